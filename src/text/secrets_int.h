/* SPDX-License-Identifier: Apache-2.0
 * text/secrets_int.h: what the files of secret detection share. */
#ifndef WBI_TEXT_SECRETS_INT_H
#define WBI_TEXT_SECRETS_INT_H

#include "text/secrets.h"

/* A found secret; bytes [from, to) of the text. */
struct secret {
    size_t from;
    size_t to;
    const char *label;
    bool open;     /* a block without its end: more may follow */
    size_t indent; /* of the lines of a block of YAML; 0: it is a key block */
    size_t left;   /* so much may follow */
};

/* Alphabets of what follows a prefix. */
enum alphabet {
    A_WORD, /* letters, digits, _ and - */
    A_ALNUM,
    A_UPPER32, /* A-Z 2-7 */
    A_HEX,
    A_LETTER,
    A_BASE64,    /* letters, digits, + / = */
    A_TOKEN,     /* letters, digits, _ - . = + / ~ */
    A_LOWHEX,    /* 0-9 a-f */
    A_AUTHORITY, /* user, password and host of a URL, without the @ */
    A_CAPITAL,   /* A-Z 0-9 */
    A_DIGITS64,  /* the third and fourth of four letters that are base64 of three digits */
    A_NO_WORD,   /* small letters, but c, h and t and those that share their nibbles */
    A_NAME_ENDS, /* this and the next ones: of the first byte only. What may follow the last word of
                    a name before its value */
    A_PASSW,     /* what makes passw a word */
    A_MEMBER,    /* what may follow the name of a member */
    A_ANY        /* not in the table: every byte */
};

/* The last run of each alphabet that was looked at: a text of nothing but literals would be
 * read to its end for each of them. */
struct runs {
    uint32_t there; /* a bit for each alphabet that has one */
    struct {
        size_t from, to;
    } of[A_NAME_ENDS];
};

#define NOWHERE SIZE_MAX
/* The table under way. */
struct table {
    struct wbi_secrets_table of;
    size_t from;  /* its first row in this text */
    size_t row;   /* the one to be looked at next */
    size_t end;   /* the line that is none, or NOWHERE */
    size_t tried; /* the line looked at last for being its head */
    bool fresh;   /* the head was found just now */
};

/* What matchers look at; nothing before floor counts. */
struct judged {
    const struct wbi_secrets *set;
    struct wbi_str text;
    size_t floor;
    size_t limit;   /* what begins behind it is judged again, without what stands before it */
    bool undecided; /* said by a matcher: the next line tells */
    struct runs *runs;
    struct table *table;
};

struct rule;
/* Judge the text around a literal found at `at`. */
typedef bool (*matcher)(struct judged *j, size_t at, const struct rule *r, struct secret *ret);

/* literal, then min to max characters of an alphabet; a matcher of its own may ask
 * for more, but the first byte after the literal is always of the alphabet. */
struct rule {
    const char *label;
    const char *literal;
    matcher match; /* NULL: the plain prefix rule */
    uint8_t n;     /* length of the literal */
    uint8_t alphabet;
    uint16_t min;
    uint16_t max;
    bool fold; /* the literal is compared without regard to case */
};

extern const struct rule wbi_secret_rules[];
extern const size_t wbi_secret_rules_n;

extern const uint16_t wbi_alphabets[256];
static inline bool wbi_in_alphabet(uint8_t c, uint8_t alphabet)
{
    return alphabet == A_ANY || (wbi_alphabets[c] >> alphabet & 1);
}
/* Bits per character, times 100. */
unsigned wbi_entropy(struct wbi_str s);

static inline bool wbi_is_lower(uint8_t c)
{
    return c >= 'a' && c <= 'z';
}
static inline bool wbi_is_upper(uint8_t c)
{
    return c >= 'A' && c <= 'Z';
}
static inline bool wbi_is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}
static inline bool wbi_is_alnum(uint8_t c)
{
    return wbi_in_alphabet(c, A_ALNUM);
}
/* Bytes of the alphabet from `at` on. */
static inline size_t wbi_run(struct wbi_str t, size_t at, uint8_t alphabet)
{
    size_t i = at;

    while (i < t.n && wbi_in_alphabet((uint8_t)t.p[i], alphabet))
        i++;
    return i - at;
}
/* The same in the text that is judged. */
static inline size_t wbi_judged_run(const struct judged *j, size_t at, enum alphabet alphabet)
{
    struct runs *r = j->runs;
    bool there = (r->there >> alphabet & 1) != 0;

    if (!there || at < r->of[alphabet].from || at > r->of[alphabet].to) {
        r->there |= 1u << alphabet;
        r->of[alphabet].from = at;
        r->of[alphabet].to = at + wbi_run(j->text, at, (uint8_t)alphabet);
    }
    return r->of[alphabet].to - at;
}
static inline bool wbi_found(struct secret *ret, size_t from, size_t to, const char *label)
{
    *ret = (struct secret){.from = from, .to = to, .label = label};
    return true;
}
static inline size_t wbi_skip_blanks(struct wbi_str t, size_t i, size_t most)
{
    size_t from = i;

    while (i < t.n && i - from < most && (t.p[i] == ' ' || t.p[i] == '\t'))
        i++;
    return i;
}
/* Where word stands in s whatever its case, or s.n. */
static inline size_t wbi_find_fold(struct wbi_str s, struct wbi_str word)
{
    for (size_t i = 0; i + word.n <= s.n; i++)
        if (wbi_str_ieq(wbi_str_make(s.p + i, word.n), word))
            return i;
    return s.n;
}
/* Start of the line that holds `at`. */
static inline size_t wbi_line_start(struct wbi_str t, size_t at)
{
    const char *nl = at > 0 ? memrchr(t.p, '\n', at) : NULL;

    return nl != NULL ? (size_t)(nl - t.p) + 1 : 0;
}
/* The same where the line begins near enough, else `at`: lines may be endless. */
static inline size_t wbi_near_line_start(struct wbi_str t, size_t at)
{
    size_t back = at < 512 ? at : 512,
           start = wbi_line_start(wbi_str_make(t.p + at - back, back), back);

    return start > 0 || back == at ? at - back + start : at;
}

/* secrets_match.c */
/* What begins at `at` goes on a word; the end of an escape (\n, %20) is none of it. */
bool wbi_word_before(const struct judged *j, size_t at);
/* Where a word that reaches `at` begins, when letters of an escape before it were taken
 * for its own: they stand at `from`. */
size_t wbi_behind_escape(const struct judged *j, size_t from, size_t at);
bool wbi_match_prefix(struct judged *, size_t, const struct rule *, struct secret *);
bool wbi_match_generic(struct judged *, size_t, const struct rule *, struct secret *);
bool wbi_match_url(struct judged *, size_t, const struct rule *, struct secret *);
bool wbi_match_header(struct judged *, size_t, const struct rule *, struct secret *);
bool wbi_match_bearer(struct judged *, size_t, const struct rule *, struct secret *);
bool wbi_match_jwt(struct judged *, size_t, const struct rule *, struct secret *);
bool wbi_match_pem(struct judged *, size_t, const struct rule *, struct secret *);
bool wbi_match_curl(struct judged *, size_t, const struct rule *, struct secret *);
bool wbi_match_inner(struct judged *, size_t, const struct rule *, struct secret *);
bool wbi_match_near(struct judged *, size_t, const struct rule *, struct secret *);
bool wbi_match_sk(struct judged *, size_t, const struct rule *, struct secret *);
bool wbi_match_aws(struct judged *, size_t, const struct rule *, struct secret *);
bool wbi_match_around(struct judged *, size_t, const struct rule *, struct secret *);
bool wbi_match_crypt(struct judged *, size_t, const struct rule *, struct secret *);
bool wbi_match_cookie(struct judged *, size_t, const struct rule *, struct secret *);
bool wbi_match_signature(struct judged *, size_t, const struct rule *, struct secret *);
bool wbi_match_pgpass(struct judged *, size_t, const struct rule *, struct secret *);
bool wbi_match_option(struct judged *, size_t, const struct rule *, struct secret *);
bool wbi_match_packed(struct judged *, size_t, const struct rule *, struct secret *);
bool wbi_match_putty(struct judged *, size_t, const struct rule *, struct secret *);
bool wbi_match_webhook(struct judged *, size_t, const struct rule *, struct secret *);
bool wbi_match_airtable(struct judged *, size_t, const struct rule *, struct secret *);
bool wbi_match_mailchimp(struct judged *, size_t, const struct rule *, struct secret *);
bool wbi_match_discord(struct judged *, size_t, const struct rule *, struct secret *);
/* secrets_beside.c */
bool wbi_match_sql(struct judged *, size_t, const struct rule *, struct secret *);
bool wbi_match_oauth(struct judged *, size_t, const struct rule *, struct secret *);
bool wbi_match_jwk(struct judged *, size_t, const struct rule *, struct secret *);
/* secrets_value.c: after a name, quotes, blanks and what assigns; where the value starts, or 0. */
size_t wbi_value_start(struct wbi_str t, size_t i);
/* A value at i that is only the head of a block of YAML (`|`, `>-`) begins in the next line. */
size_t wbi_in_block(struct judged *j, size_t i);
/* Never called: such literals change how the text around them is judged. */
bool wbi_match_context(struct judged *, size_t, const struct rule *, struct secret *);
/* Bytes of a key block that go on at text.p[at]; *ret_ended when its end line
 * was among them. */
size_t wbi_pem_body(struct wbi_str text, size_t at, size_t most, bool *ret_ended);
/* The same of a block of YAML, from the start of a line on. */
size_t wbi_indented_body(struct wbi_str text, size_t at, size_t most, size_t indent,
                         bool *ret_ended);

/* How much a name says about its value. */
enum strength {
    NOT_A_NAME,
    FAINT, /* of some key: only what is random */
    WEAK,
    STRONG,  /* a secret whatever it looks like */
    PASSWORD /* also short, also a word with a digit */
};

/* secrets_value.c */
enum strength wbi_name_strength(struct wbi_str name);

/* secrets_looks.c: of a value by itself. */
#define PASSWORD_MIN 6u
#define VALUE_MIN 10u
/* <password>, $PASSWORD, %s, ***, or a word such as password: in the place of one. */
bool wbi_stand_in(struct wbi_str v);
/* The same, and what examples have: your_password, changeme. */
bool wbi_sample_password(struct wbi_str v);
/* Words joined by dots, slashes, underscores or capitals: code and paths. */
bool wbi_wordy(struct wbi_str v);
/* Small letters, capitals and digits seldom change: as in words and paths, not in random text. */
bool wbi_even(struct wbi_str v);
/* foo2test, tests/foo2.sh, TestV2: what test runners name; a password may have signs. */
bool wbi_name_of_test(struct wbi_str v);
/* What nobody would use (your-api-key, changeme), or what is no value at all. */
bool wbi_placeholder(struct wbi_str v);
/* Behind the name of a password, and this quote (0: none). tight: nothing but the two stand
 * there. variable: the name is one of the environment, whose value may be any word. */
bool wbi_like_password(struct wbi_str v, char quote, bool tight, bool variable);
/* As old rules of scanners have it: long enough, and random enough. */
bool wbi_like_random(struct wbi_str v, enum strength strength);

/* secrets_scan.c: places where a literal may begin. */
#define SETS 2 /* of eight buckets */
#define BUCKETS (8 * SETS)
#define DEEP 4
#define LITERALS_MAX 384
#define RULE_KEYS 1024
#define QUAD_BITS 17
struct prefilter {
    size_t lanes;                   /* bytes judged at once; 0 without vector shuffles */
    uint8_t exact[SETS][DEEP][128]; /* bucket bits by byte 0, 1, 2, 3 */
    uint8_t low[SETS][DEEP][16];    /* other buckets, by low and by high nibble; lanes 32 only */
    uint8_t high[SETS][DEEP][16];
    uint64_t pairs[1024];       /* bit per first two bytes, for machines without shuffles */
    uint64_t short_pairs[1024]; /* the same for literals of two bytes only */
    uint64_t quads[1u << (QUAD_BITS - 6)]; /* bit per hash of the first four bytes of all others */
    uint64_t want[LITERALS_MAX];           /* first eight bytes of the rules in order */
    uint64_t mask[LITERALS_MAX];
    uint64_t soft[LITERALS_MAX]; /* bits set before comparing, where case does not count */
    uint8_t length[LITERALS_MAX];
    uint16_t order[LITERALS_MAX];  /* rules sorted by wbi_rule_key */
    uint16_t start[RULE_KEYS + 1]; /* where those of a key begin in it */
};
/* Rules whose literals begin with these two bytes, and few others, have this key. */
static inline unsigned wbi_rule_key(uint64_t first_bytes)
{
    unsigned pair = (unsigned)(first_bytes | 0x2020) & 0xffff;

    return (pair * 37 ^ pair >> 8) & (RULE_KEYS - 1);
}
#define FOUND_MAX 64 /* candidates collected ahead */
struct scan {
    const struct prefilter *filter;
    struct wbi_str text;
    size_t at; /* next byte to look at */
    size_t n_found;
    size_t next; /* of found */
    size_t found[FOUND_MAX + 64];
};
void wbi_prefilter_init(struct prefilter *f);
/* Hold it to fewer lanes (64, 32 or 0) than the machine has, for measuring and tests. False
 * when it has not so many. */
WB_MUST_CHECK bool wbi_prefilter_hold(struct prefilter *f, size_t lanes);
void wbi_scan_start(struct scan *s, const struct prefilter *f, struct wbi_str text);
/* Next candidate at or after from; text.n when there is none. */
size_t wbi_scan_next(struct scan *s, size_t from);

/* secrets_known.c: literal search for known values (Wu-Manber). */
struct known;
WB_MUST_CHECK wb_rc wbi_known_new(const struct wbi_secrets_known *values, size_t n,
                                  struct known **ret, size_t *ret_ignored);
void wbi_known_free(struct known *k);
/* Leftmost, then longest match at or after from; false when there is none. */
bool wbi_known_next(const struct known *k, struct wbi_str text, size_t from, struct secret *ret);
size_t wbi_known_longest(const struct known *k);
/* Of the values with a line break inside; 0 when there are none. */
size_t wbi_known_longest_block(const struct known *k);
bool wbi_known_any(const struct known *k);
bool wbi_known_label(const struct known *k, struct wbi_str label);

#define WBI_SECRETS_KEY_MAX 64u
struct wbi_secrets {
    struct prefilter filter;
    struct known *known;
    size_t key_n;
    uint8_t key[WBI_SECRETS_KEY_MAX];
};

/* secrets_sealed.c: an object that is or may be a Kubernetes Secret. */
#define SEALED_LABEL "kubernetes-secret"
#define SEALED_MAX 4
#define SEALED_READS 16u /* of objects in objects: so often a byte is read on average */
struct span {
    size_t from;
    size_t to;
};
struct sealed {
    size_t from;     /* line with which reading must begin again when it is unfinished */
    bool secret;     /* its kind is Secret */
    bool unfinished; /* the text ends inside it */
    bool json;
    bool escaped;       /* quotes are \" */
    bool kind, version; /* a member of that name was read: a second one is another object's */
    size_t member;      /* of a JSON block: the one last looked at */
    size_t read;        /* up to here, to find all this out */
    size_t n;
    struct span block[SEALED_MAX]; /* data and stringData */
};
/* Read the object whose version or kind is the member at `at`; false when it is
 * nothing of the sort, or nothing is left: what is read is taken from *left. */
bool wbi_sealed_open(struct sealed *s, struct wbi_str t, size_t at, size_t *left);
/* Next value at or after from that is not replaced yet. */
bool wbi_sealed_next(struct sealed *s, const struct wbi_secrets *set, struct wbi_str t, size_t from,
                     struct secret *ret);

/* secrets_mask.c: length of a replacement [redacted:label:hash] at i, or 0. */
size_t wbi_mask_at(const struct wbi_secrets *s, struct wbi_str t, size_t i);
/* Where the replacements that stand at i one after the other end. */
size_t wbi_skip_masks(const struct wbi_secrets *s, struct wbi_str t, size_t i);
/* What is nothing but replacements or begins inside one was judged before: judging
 * twice changes nothing. */
bool wbi_masked_before(const struct wbi_secrets *s, struct wbi_str t, const struct secret *m);

/* secrets_table.c */
void wbi_columns_start(struct table *table, const struct wbi_secrets_table *carried);
/* A telling name at `at` may stand in the head of one. */
void wbi_columns_head(struct table *table, struct wbi_str t, size_t at, size_t floor);
/* Next secret at or after from. */
bool wbi_columns_next(struct table *table, const struct wbi_secrets *set, struct wbi_str t,
                      size_t from, struct secret *ret);
/* The line at `at` may be a row of it. */
bool wbi_columns_goes_on(const struct table *table, size_t at);

/* secrets_find.c: the next secret of a text. */
struct finder {
    const struct wbi_secrets *set;
    struct wbi_str text;
    size_t limit; /* what begins behind it is judged again, without what stands before it */
    bool final;   /* no more text will come */
    size_t mark;  /* first visible mark, or NOWHERE */
    size_t wait;  /* from here on more text is needed, or NOWHERE */
    struct scan scan;
    struct secret known; /* the next known value, found ahead */
    bool has_known;
    struct sealed sealed; /* the object under way whose values are all secret */
    struct secret value;  /* the next one of them */
    bool has_value;
    struct table table;
    struct secret cell; /* the next secret of its rows */
    bool has_cell;
    size_t left;    /* bytes that may yet be read for such objects */
    size_t literal; /* of the secret found last; its value may stand behind */
    struct runs runs;
};
/* table (may be NULL): what the text before it ended in. */
void wbi_finder_start(struct finder *f, const struct wbi_secrets *set, struct wbi_str text,
                      size_t limit, bool final, const struct wbi_secrets_table *table);
/* Next secret at or after from; none beyond where more text is needed. */
bool wbi_finder_next(struct finder *f, size_t from, struct secret *ret);
/* Looks for marks inside of what it found, which it does not by itself. */
void wbi_finder_note_mark(struct finder *f, const struct secret *m);

/* secrets_bare.c */
/* Length of a visible mark <U+XXXX> at i, or 0. */
size_t wbi_mark_at(struct wbi_str t, size_t i);
/* A text without its marks, and where its pieces stood. */
struct bare {
    struct wbi_buf text;
    struct wbi_buf pieces; /* of struct piece */
    size_t whole;          /* bytes with marks */
};
WB_MUST_CHECK wb_rc wbi_bare_of(struct wbi_str t, struct bare *ret);
void wbi_bare_fini(struct bare *b);
/* Where byte `at` of the bare text stood. */
size_t wbi_bare_stood(const struct bare *b, size_t at);

#endif
