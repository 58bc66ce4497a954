/* SPDX-License-Identifier: Apache-2.0 */
/* A shared access signature, inside auth/: the parameters of the query that make one, the text that
 * was signed, and the limits that it sets. docs/protocol/facts.md §3.4 to §3.10. */
#ifndef AUTH_SAS_H
#define AUTH_SAS_H

#include "auth/auth_internal.h"

/* The query's parameters; X(constant, name in the URL). */
// clang-format off
#define SAS_PARAMETERS(X) \
    X(SIG, "sig") X(SV, "sv") X(SR, "sr") X(SP, "sp") X(ST, "st") X(SE, "se") X(SIP, "sip") \
    X(SPR, "spr") X(SI, "si") X(SS, "ss") X(SRT, "srt") X(SDD, "sdd") X(SES, "ses") \
    X(RSCC, "rscc") X(RSCD, "rscd") X(RSCE, "rsce") X(RSCL, "rscl") X(RSCT, "rsct") X(TN, "tn") \
    X(SPK, "spk") X(SRK, "srk") X(EPK, "epk") X(ERK, "erk") X(SKOID, "skoid") X(SKTID, "sktid") \
    X(SKT, "skt") X(SKE, "ske") X(SKS, "sks") X(SKV, "skv") X(SAOID, "saoid") X(SUOID, "suoid") \
    X(SCID, "scid") X(SKDUTID, "skdutid") X(SDUOID, "sduoid") X(SRH, "srh") X(SRQ, "srq") \
    X(SNAPSHOT, "snapshot") X(VERSIONID, "versionid")
// clang-format on

enum sas_field {
#define X(constant, name) SAS_##constant,
    SAS_PARAMETERS(X)
#undef X
        SAS_FIELD_COUNT
};

struct sas {
    const struct auth_input *input;
    struct arena *arena;
    struct str value[SAS_FIELD_COUNT]; /* decoded; absent where not sent */
    bool malformed; /* a parameter occurs twice, or has a value that must not be signed */
    enum auth_kind kind;
    int version; /* sv as yyyymmdd */
    enum sas_scope scope;
    struct str container, path; /* its scope, and the canonical name of that */
    struct str resource;
    struct buf text;
};

/* Fills all but container, path, resource and text. False if it cannot be a SAS: sv is missing or
 * invalid, a parameter occurs twice, a value may not become part of a string to sign, or the
 * service does not have this sr or did not have it by sv. */
bool sas_read(struct sas *sas, const struct auth_input *input, struct arena *arena);
/* The parameter of that name, in any case; SAS_FIELD_COUNT if no SAS has it. */
enum sas_field sas_field_of(struct str name);
/* Returns true if the query contains a SAS. */
bool sas_present(const struct auth_input *input);

/* Sets sas->container, path and resource. ERR_AUTHENTICATION_FAILED if the request names no
 * resource of that scope; ERR_QUERY_PARAMETER_SDD_INVALID, ERR_QUERY_PARAMETER_SAS_MANDATORY. */
struct err sas_name_resource(struct sas *sas);
/* Returns true if the names and values of the headers and parameters that srh and srq list may
 * become part of the text. */
bool sas_names_are_signable(const struct sas *sas);
/* The only snapshot or version that the SAS is valid for; absent if it is not limited to one. */
struct str sas_moment(const struct sas *sas);
/* The text of the i-th layout that a client with this sv may have used; false when there is none.
 * Layout 0 is the documented one. */
bool sas_text(struct sas *sas, size_t i, struct str *text);

/* st, se, sp of the URL or of the stored policy. */
struct sas_terms {
    struct str start, expiry, permission;
};

/* ERR_AUTHENTICATION_FAILED. */
struct err sas_check_times(const struct sas *sas, const struct sas_terms *terms, int64_t now);
/* ERR_AUTHORIZATION_SOURCE_IP_MISMATCH. */
struct err sas_check_address(const struct sas *sas);
/* ERR_AUTHORIZATION_PROTOCOL_MISMATCH. */
struct err sas_check_protocol(const struct sas *sas);

/* Returns true if the SAS is signed, in its validity period and from an allowed address; stores its
 * scope in *result. */
struct err sas_check(const struct auth_server *server, const struct auth_input *input,
                     struct arena *arena, struct auth_result *result);

#endif
