/* SPDX-License-Identifier: Apache-2.0
 * path/guarded.c: names that change what runs later (hooks, agent and editor
 * configuration, shell start files, Waybill's own), which a write must be
 * granted explicitly; and how a path is shown. Names are compared as a
 * case-folding file system would: case, invisible characters and the two
 * letters that fold into ASCII do not make another name. */
#include "path/path.h"

#include <stdio.h>

#include "base/checked.h"
#include "base/utf8.h"

static const char *const guarded_names[] = {
    /* version control: hooks and configuration run programs */
    ".git",
    ".gitmodules",
    ".gitconfig",
    ".hg",
    ".svn",
    ".husky",
    /* Waybill */
    ".waybill",
    "waybill.json",
    "tools.d",
    /* agents */
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
    ".windsurf",
    ".continue",
    ".aider.conf.yml",
    ".mcp.json",
    ".cursorrules",
    ".agents",
    /* editors */
    ".vscode",
    ".idea",
    ".zed",
    ".fleet",
    ".devcontainer",
    ".vimrc",
    ".exrc",
    ".nvimrc",
    ".emacs",
    ".dir-locals.el",
    /* shells and other programs that read a file where they start */
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zprofile",
    ".zshenv",
    ".zlogin",
    ".zlogout",
    ".envrc",
    ".ripgreprc",
    ".ssh",
    ".netrc",
};

static bool is_invisible(uint32_t cp)
{
    return cp == 0xAD || cp == 0x34F || cp == 0x61C || (cp >= 0x115F && cp <= 0x1160) ||
           (cp >= 0x17B4 && cp <= 0x17B5) || (cp >= 0x180B && cp <= 0x180F) ||
           (cp >= 0x200B && cp <= 0x200F) || (cp >= 0x2028 && cp <= 0x202E) ||
           (cp >= 0x2060 && cp <= 0x206F) || cp == 0x3164 || (cp >= 0xFE00 && cp <= 0xFE0F) ||
           cp == 0xFEFF || cp == 0xFFA0 || (cp >= 0xFFF0 && cp <= 0xFFFB) ||
           (cp >= 0x1BCA0 && cp <= 0x1BCA3) || (cp >= 0x1D173 && cp <= 0x1D17A) ||
           (cp >= 0xE0000 && cp <= 0xE0FFF);
}

/* The component as a folding file system sees it; longer ones are no guarded
 * name, so the cut does not matter. */
static size_t fold(struct wbi_str name, char out[32])
{
    size_t n = 0, at = 0;

    while (at < name.n && n < 31) {
        size_t skip, len = wbi_utf8_step((const uint8_t *)name.p + at, name.n - at, &skip);
        unsigned char c = (unsigned char)name.p[at];
        uint32_t cp = c;

        if (len > 1) {
            size_t from = at;
            cp = wbi_utf8_next(name, &from);
        }
        at += len ? len : skip;
        if (cp >= 0x80 && is_invisible(cp))
            continue;
        if (cp == 0x212A) /* KELVIN SIGN */
            cp = 'k';
        else if (cp == 0x17F) /* LATIN SMALL LETTER LONG S */
            cp = 's';
        out[n++] = cp >= 'A' && cp <= 'Z' ? (char)(cp + 32) : cp < 0x80 ? (char)cp : '\x7f';
    }
    return at < name.n ? 0 : n;
}

static bool name_guarded(struct wbi_str name)
{
    char folded[32];
    struct wbi_str s = {folded, fold(name, folded)};

    /* Short names of FAT stand for the long one. */
    if (wbi_str_eqz(s, "git~1"))
        return true;
    for (size_t i = 0; i < WBI_COUNT(guarded_names); i++)
        if (wbi_str_eqz(s, guarded_names[i]))
            return true;
    return false;
}

bool wbi_path_guarded(struct wbi_str path)
{
    while (path.n > 0) {
        size_t n = wbi_str_index(path, '/');

        if (n > 0 && name_guarded(wbi_str_head(path, n)))
            return true;
        path = wbi_str_from(path, n + 1);
    }
    return false;
}

size_t wbi_path_show_one(struct wbi_str path, size_t *at, char out[16])
{
    size_t skip, from = *at;
    size_t len = wbi_utf8_step((const uint8_t *)path.p + from, path.n - from, &skip);
    unsigned char c = (unsigned char)path.p[from];
    uint32_t cp = c;

    if (len == 0 || c < 0x20 || c == 0x7f) {
        *at += 1;
        return (size_t)snprintf(out, 16, "\\x%02x", c);
    }
    if (len > 1) {
        size_t next = from;
        cp = wbi_utf8_next(path, &next);
    }
    *at += len;
    if (cp >= 0x80 && (cp < 0xA0 || is_invisible(cp)))
        return (size_t)snprintf(out, 16, "\\u{%x}", (unsigned)cp);
    memcpy(out, path.p + from, len);
    return len;
}

const char *wbi_path_show(struct wbi_str path, char out[WBI_PATH_SHOWN])
{
    enum { SHOWN_HEAD = 120, SHOWN_TAIL = 60 };
    size_t n = 0, at = 0;
    char one[16];

    while (at < path.n && n < SHOWN_HEAD) {
        size_t len = wbi_path_show_one(path, &at, one);
        memcpy(out + n, one, len);
        n += len;
    }
    if (path.n - at > SHOWN_TAIL / 4) {
        memcpy(out + n, "...", 3);
        n += 3;
        at = path.n - SHOWN_TAIL / 4;
        for (size_t i = 1; i < 4 && ((unsigned char)path.p[at] & 0xC0) == 0x80; i++)
            at++; /* to the start of a character */
    }
    while (at < path.n && n < WBI_PATH_SHOWN - 17) {
        size_t len = wbi_path_show_one(path, &at, one);
        memcpy(out + n, one, len);
        n += len;
    }
    out[n] = '\0';
    return out;
}
