/* SPDX-License-Identifier: Apache-2.0
 * family/file/file.h: the engines behind ReadFile, ListFiles, SearchFiles and
 * WriteFile: a request in, the complete typed output in the call's arena out.
 * They know nothing of budgets and receipts. Tokens are opaque to callers; a
 * next_token that is absent means the end (C7.7). Errors are those of
 * path/path.h unless told otherwise. */
#ifndef WBI_FAMILY_FILE_FILE_H
#define WBI_FAMILY_FILE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/slice.h"

struct wbi_arena;
struct wbi_root;
struct wbi_secrets;

/* ---- ReadFile ---- */

/* One that was read already. */
struct wbi_file_at_hand {
    struct wbi_str bytes;
    struct stat st;
};

struct wbi_read_request {
    struct wbi_str path;
    const struct wbi_file_at_hand *file; /* NULL: by its path */
    uint64_t first_line;                 /* 1-based; 0: 1 */
    uint64_t max_lines;                  /* 0: WBI_LIMIT_READ_LINES */
    size_t max_bytes;                    /* of line text; 0: WBI_LIMIT_READ_BYTES */
    size_t max_line; /* bytes kept of one line; 0: WBI_LIMIT_READ_LINE, where nothing is cut:
                      * the page ends within a longer line and the next one goes on there */
    struct wbi_str token;
    const struct wbi_secrets *secrets; /* to hide as family/file/hide.h does; may be NULL */
};

struct wbi_read_line {
    struct wbi_str text; /* without its line end; cut at a UTF-8 boundary */
    uint64_t start;      /* offset of text */
    uint64_t length;     /* bytes the line has from there on */
    uint64_t end;        /* offset behind it and its line end; of one that goes on, behind text */
    bool goes_on;        /* the next page goes on in it */
    bool hidden;         /* text is not what stands there: secrets were replaced */
};

struct wbi_read_result {
    struct wbi_str path; /* as given */
    uint64_t size;
    uint64_t mtime_ns;
    uint64_t first_line; /* number of lines[0] */
    uint64_t within;     /* bytes of it that earlier pages gave */
    struct wbi_read_line *lines;
    size_t n_lines;
    size_t cut_lines; /* lines longer than max_line */
    bool at_end;      /* the last line given is the file's last */
    bool counted;     /* total_lines and has_sha256 hold (files up to WBI_LIMIT_READ_SCAN) */
    uint64_t total_lines;
    bool has_sha256;
    char sha256[WBI_SHA256_HEX];
    const char *encoding; /* "utf-8", "utf-8-bom" (mark left out), "unknown-8bit" */
    bool crlf;            /* some line of the page ends so */
    bool final_newline;   /* with counted */
    bool hidden;          /* some line is */
    struct wbi_str next_token;
};

/* file_not_text for binary content, described in the message; file_changed when
 * a token is used on a file that is no longer the same. */
WB_MUST_CHECK wb_rc wbi_file_read(struct wbi_root *root, const struct wbi_read_request *req,
                                  struct wbi_arena *arena, struct wbi_error *err,
                                  struct wbi_read_result *ret);

/* The token of the page behind the first n lines of r; absent on failure. */
struct wbi_str wbi_read_token(const struct wbi_read_result *r, size_t n, struct wbi_arena *arena);
/* The token of the page behind the first n bytes of the text of line i. */
struct wbi_str wbi_read_token_in(const struct wbi_read_result *r, size_t i, size_t n,
                                 struct wbi_arena *arena);

/* ---- ListFiles ---- */

struct wbi_list_request {
    struct wbi_str path; /* "" or absent: the root */
    struct wbi_str glob; /* absent: everything */
    unsigned max_depth;  /* 0: no limit but the cap */
    bool hidden, no_ignore;
    bool dirs_only, files_only;
    size_t max_entries; /* 0: WBI_LIMIT_LIST_ENTRIES */
    struct wbi_str token;
    const _Atomic bool *stop; /* looked at on the way; then WB_ECANCELLED. May be NULL */
};

struct wbi_list_entry {
    struct wbi_str path; /* relative to the directory listed */
    char type;           /* f file, d directory, l link, o other */
    uint64_t size;       /* of files */
};

struct wbi_list_result {
    struct wbi_str path;
    struct wbi_list_entry *entries;
    size_t n_entries;
    unsigned unreadable; /* directories passed over */
    unsigned too_deep;   /* directories below the depth cap */
    struct wbi_str next_token;
};

WB_MUST_CHECK wb_rc wbi_file_list(struct wbi_root *root, const struct wbi_list_request *req,
                                  struct wbi_arena *arena, struct wbi_error *err,
                                  struct wbi_list_result *ret);

/* ---- SearchFiles ---- */

enum wbi_search_mode {
    WBI_SEARCH_LINES, /* matching lines with context */
    WBI_SEARCH_FILES, /* names of files that match */
    WBI_SEARCH_COUNT  /* names with the number of matching lines */
};

struct wbi_search_request {
    struct wbi_str pattern; /* PCRE2, or plain text with literal; sees lines without LF or CR LF */
    bool literal, ignore_case;
    struct wbi_str path; /* a directory or one file; absent: the root */
    struct wbi_str glob;
    enum wbi_search_mode mode;
    unsigned before, after; /* context lines */
    bool hidden, no_ignore;
    size_t max_matches; /* matching lines, or files; 0: WBI_LIMIT_SEARCH_MATCHES */
    struct wbi_str token;
    const _Atomic bool *stop;          /* as in struct wbi_list_request */
    const struct wbi_secrets *secrets; /* to hide as family/file/hide.h does; may be NULL */
};

struct wbi_search_line {
    uint64_t number;
    struct wbi_str text; /* cut to WBI_LIMIT_SEARCH_LINE bytes around the match */
    bool is_match, cut;
    uint32_t from, to; /* the first match within text */
    size_t at;         /* of the line in the file's text */
};

struct wbi_search_file {
    struct wbi_str path;           /* relative to base of the result */
    struct wbi_search_line *lines; /* ascending; a gap in the numbers is a break */
    size_t n_lines;
    uint64_t matches; /* matching lines seen in this file; 0: only context of an earlier page */
};

struct wbi_search_result {
    struct wbi_str base; /* the directory searched, as given; absent for one file */
    struct wbi_search_file *files;
    size_t n_files;
    uint64_t matches;
    uint64_t files_searched;
    unsigned binary_skipped, large_skipped, unreadable, too_deep;
    bool gave_up; /* the expression needed too much work somewhere */
    bool hidden;  /* secrets in some line were replaced */
    struct wbi_str next_token;
};

/* The token of the page behind a line, a match or context; line UINT64_MAX:
 * behind the whole file. Absent on failure. */
struct wbi_str wbi_search_token(struct wbi_arena *arena, struct wbi_str path, uint64_t line);

/* invalid_tool_input for a pattern that does not compile. */
WB_MUST_CHECK wb_rc wbi_file_search(struct wbi_root *root, const struct wbi_search_request *req,
                                    struct wbi_arena *arena, struct wbi_error *err,
                                    struct wbi_search_result *ret);

/* ---- WriteFile ---- */

enum wbi_write_mode { WBI_FILE_CREATE, WBI_FILE_REPLACE, WBI_FILE_APPEND };

struct wbi_write_request {
    struct wbi_str path;
    struct wbi_str data;
    enum wbi_write_mode mode;
    struct wbi_str expected_sha256; /* hex; absent: not checked (REPLACE, APPEND) */
    bool make_dirs, executable, granted;
};

struct wbi_write_result {
    struct wbi_str path;
    bool created;
    bool unsynced; /* it is there, but its directory could not be synced */
    uint64_t size; /* of the file now */
    uint64_t lines;
    char sha256[WBI_SHA256_HEX];
};

/* existing_file (CREATE), missing_file (REPLACE), file_changed when the hash is
 * another one. */
WB_MUST_CHECK wb_rc wbi_file_write(struct wbi_root *root, const struct wbi_write_request *req,
                                   struct wbi_arena *arena, struct wbi_error *err,
                                   struct wbi_write_result *ret);

#endif
