/* SPDX-License-Identifier: Apache-2.0 */
/* CREATE: opens or makes a file or directory.
 *
 *   read (create_request.c) → look for the path → what is there: register in the open-file table,
 *   then look again, or overwrite                → answer
 *   what is not there: make it and register it in one transaction → answer
 *
 * An open registers first and trusts only what it sees in the rows after that: pass.h has the
 * argument. */
#ifndef SMB_COMMANDS_CREATE_H
#define SMB_COMMANDS_CREATE_H

#include "service/file/short_name.h"
#include "smb/open.h"
#include "smb/waiting.h"

enum { SMB_CREATE_TRIES = 8 };

/* The create contexts as they were sent; absent where not. */
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
    struct str sd;  /* of SecD; absent: inherited */
    struct str eas; /* of ExtA */
    uint64_t allocation;
    int64_t snapshot;
    struct smb_lease lease;
    struct smb_durable_wish durable;

    /* On its way. */
    struct smb_open *open;
    struct smb_open *replayed; /* held: the handle that an earlier sending of the same has made */
    uint8_t answer_oplock;     /* the level that is returned */
    struct file_look_args look;
    bool lengthened; /* long names have been looked for in the place of short ones */
    struct file_long_path_args lengthen;
    struct file_make_args make;
    struct file_overwrite_args overwrite;
    unsigned tries;
    uint32_t max_access; /* that MxAc tells */
    unsigned granted;    /* OPENS_CACHE_* that the handle has got */
    struct opens_cache_info cache;
    struct file_seen seen;

    /* While others are asked to give up their caches. */
    struct smb_waiting waiting;
};

void smb_create(struct smb_request *q);
/* Ends; whatever was registered is taken back. */
void smb_create_fail(struct smb_create *c, uint32_t status);
/* c->open was parked and belongs to its client again; c->seen has its file. */
void smb_create_returned(struct smb_create *c);
/* c->open is returned once more. */
void smb_create_replayed(struct smb_create *c);
/* The client's address, in the arena. */
struct str smb_client_address(const struct smb_request *q);

/* Takes the request apart and checks what can be checked without looking; a status. */
uint32_t smb_create_read(struct smb_request *q, struct smb_create *out);
/* A client's name for a file, '\' for '/', to UTF-8: STATUS_OBJECT_NAME_INVALID,
 * STATUS_INVALID_PARAMETER when it begins with a backslash. */
uint32_t smb_read_name(struct arena *a, struct str utf16, struct str *out);
/* The mask that is granted for one that was asked for: generic rights spelled out. */
uint32_t smb_map_access(uint32_t desired);
/* As the open-file table has it. */
unsigned smb_opens_access(uint32_t mask);

#endif
