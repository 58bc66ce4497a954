/* SPDX-License-Identifier: Apache-2.0 */
/* CREATE: opens or creates a file or directory.
 *
 *   parse (create_request.c) → look up the path →
 *   if it exists: register in the open-file table, then look it up again, or overwrite it → answer
 *   if it does not: create it and register it in one transaction → answer
 *
 * An open registers first and trusts only the rows that it reads after that: pass.h has the proof.
 */
#ifndef SMB_COMMANDS_CREATE_H
#define SMB_COMMANDS_CREATE_H

#include "service/file/short_name.h"
#include "smb/open.h"
#include "smb/waiting.h"

enum { SMB_CREATE_TRIES = 8 };

/* The create contexts as sent; absent ones are empty. */
struct smb_create_contexts {
    struct str max_access;   /* MxAc */
    struct str disk_id;      /* QFid */
    struct str allocation;   /* AlSi */
    struct str time_warp;    /* TWrp */
    struct str security;     /* SecD */
    struct str extended;     /* ExtA */
    struct str lease;        /* RqLs */
    struct str durable;      /* DHnQ */
    struct str reconnect;    /* DHnC */
    struct str durable_v2;   /* DH2Q */
    struct str reconnect_v2; /* DH2C */
};

struct smb_create {
    struct smb_request *q;
    /* As sent. */
    uint8_t oplock;
    uint32_t desired, attributes, sharing, disposition, options;
    struct str path; /* with '/', in UTF-8 */
    struct smb_create_contexts contexts;
    struct str sd;  /* from SecD; absent: inherited */
    struct str eas; /* of ExtA */
    uint64_t allocation;
    int64_t snapshot;
    struct smb_lease lease;
    struct smb_durable_wish durable;

    /* State of the run. */
    struct smb_open *open;
    struct smb_open *replayed; /* held: the handle that the first sending of this request made */
    uint8_t answer_oplock;     /* the level that is returned */
    struct file_look_args look;
    bool lengthened; /* short names in the path were already replaced by long ones */
    struct file_long_path_args lengthen;
    struct file_make_args make;
    struct file_overwrite_args overwrite;
    unsigned tries;
    uint32_t max_access; /* returned in MxAc */
    unsigned granted;    /* OPENS_CACHE_* granted to the handle */
    struct opens_cache_info cache;
    struct file_seen seen;

    /* Used while other clients are asked to give up their caches. */
    struct smb_waiting waiting;
};

void smb_create(struct smb_request *q);
/* Ends the request with an error and undoes what was registered. */
void smb_create_fail(struct smb_create *c, uint32_t status);
/* c->open was parked and its client has reconnected; c->seen has its file. */
void smb_create_returned(struct smb_create *c);
/* Answers a replayed CREATE with c->open. */
void smb_create_replayed(struct smb_create *c);
/* The client's address, in the arena. */
struct str smb_client_address(const struct smb_request *q);

/* Parses the request and makes the checks that need no lookup; returns a status. */
uint32_t smb_create_read(struct smb_request *q, struct smb_create *out);
/* A client's name for a file, '\' for '/', to UTF-8: STATUS_OBJECT_NAME_INVALID,
 * STATUS_INVALID_PARAMETER when it begins with a backslash. */
uint32_t smb_read_name(struct arena *a, struct str utf16, struct str *out);
/* The access mask granted for a requested one: generic rights are expanded. */
uint32_t smb_map_access(uint32_t desired);
/* Converts an access mask for the open-file table. */
unsigned smb_opens_access(uint32_t mask);

#endif
