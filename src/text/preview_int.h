/* SPDX-License-Identifier: Apache-2.0
 * text/preview_int.h: what the files of preview selection share. */
#ifndef WBI_TEXT_PREVIEW_INT_H
#define WBI_TEXT_PREVIEW_INT_H

#include "text/preview.h"
#include "text/tokens.h"

enum line_flags {
    LINE_BLANK = 1,
    LINE_HEADING = 2,     /* ends in a colon, or opens a file in a diff */
    LINE_ATTACHED = 4,    /* a frame, a caret, a quoted source line: belongs to the one above */
    LINE_QUERY = 8,       /* holds a rarer word of the command */
    LINE_LONG = 16,       /* of what follows its start only words were looked for */
    LINE_TRACE = 32,      /* opens a chain of frames whose message comes last */
    LINE_PASSED = 64,     /* reports a success */
    LINE_FILE = 128,      /* names the next file of a diff */
    LINE_PLACE = 256,     /* names a line of a file */
    LINE_ODD = 512,       /* a number in it is unlike those of all lines of its shape */
    LINE_PEAK = 2048,     /* a number in it was the largest or smallest so far */
    LINE_CODE = 1024,     /* letters with digits right behind them, perhaps a code */
    LINE_TIMES = 4096,    /* the lines that repeat it differ in the time they begin with */
    LINE_VALUE = 8192,    /* names a value that was expected or that came */
    LINE_VERDICT = 16384, /* names what failed, and not why */
    LINE_MARKED = 32768   /* a marked line of an assertion */
};

#define NUMBERS_MAX 8u
/* Clearing it first takes longer than all the rest. */
#define NOT_CLEARED __attribute__((uninitialized))

/* What one line says about itself; from preview_line.c. */
struct line_facts {
    uint64_t shape;   /* hash with numbers, paths, names and quotes left out */
    uint32_t hit;     /* where its strongest word stands */
    uint32_t query;   /* bits of the command's words that occur */
    uint8_t severity; /* 0 to 130 */
    uint8_t indent;
    uint8_t start; /* of what it says, behind a time or numbers */
    uint8_t n_numbers;
    uint16_t flags;
    uint16_t opening;            /* hash of its first bytes behind `start`, digits left out */
    int64_t number[NUMBERS_MAX]; /* n_numbers that stand free, without what follows the point */
};

#define QUERY_WORDS 32
#define QUERY_SLOTS 64
#define WORD_SLOTS 512
#define WORD_BITS 4096u
#define PAIRS 12
#define BEGIN 4u /* letters by which most words are told apart from those */

/* Words that mean something, and the words of the command. */
struct word_slot {
    uint64_t hash;
    uint8_t weight;
    uint8_t kind;
    uint8_t query; /* 1 + number of the command's word, 0 for none */
};
struct words {
    uint64_t maybe[WORD_BITS / 64]; /* a bit for each word: most others find it unset */
    uint8_t begins[BEGIN][64];      /* see preview_words_int.h */
    const struct word_slot *known;  /* WORD_SLOTS, the same for all */
    struct word_slot query[QUERY_SLOTS];
    size_t n_query;
    size_t lanes; /* of the vectors that lines are read with, 0 for none */
};

void wbi_words_init(struct words *w, struct wbi_str command);
/* The first n bytes of text are the line; more may be read, but is not looked at. */
void wbi_line_look(const struct words *w, struct wbi_str text, size_t n, struct line_facts *ret);
/* The same with vectors of 64 or 32 lanes or, for 0, none; for tests. Shapes compare with those
 * found with as many lanes. */
void wbi_line_look_with(const struct words *w, struct wbi_str text, size_t n, size_t lanes,
                        struct line_facts *ret);

/* preview_quote.c: what line says from start on is part of a program. */
/* It says which test begins: the words of a name tell nothing of how it went. */
bool wbi_announces(struct wbi_str line, size_t start);
bool wbi_quotes_code(struct wbi_str line, size_t start, uint8_t indent);

/* preview_evidence.c: line names the value that was expected, or the one that came. */
bool wbi_names_value(struct wbi_str line, size_t start);
/* It names both: expected: <3> but was: <4>. */
bool wbi_compares(struct wbi_str line, size_t start);
/* It names what failed and says nothing else; marked: by a mark before it. */
bool wbi_names_failed(struct wbi_str line, size_t start, bool marked);

/* What is known of a long line from what follows its start. */
struct later_part {
    uint64_t hit;
    uint32_t query;
    uint8_t severity;
};

/* A line the index remembers. */
struct record {
    uint64_t offset;
    uint64_t line;  /* 1-based */
    uint32_t bytes; /* without newline, at most UINT32_MAX */
    uint32_t shape; /* entry of the table of shapes */
    uint32_t hit;
    uint32_t query;
    uint32_t units; /* what it costs in tokens, 0 while not counted */
    uint32_t again; /* so many lines right behind it say the same; each has as many bytes */
    uint8_t severity;
    uint8_t indent;
    uint8_t start;
    uint16_t flags;
    uint16_t opening;
};

struct shape {
    uint64_t hash;
    uint64_t count;
    uint32_t table; /* 1 + number of its columns in the index, 0 for none */
};

/* preview_number.c: what the numbers of the lines of one shape were so far. */
struct columns;
/* Add the numbers of the line being added; *ret_flags: LINE_ODD when one is unlike those
 * before, LINE_PEAK. */
WB_MUST_CHECK wb_rc wbi_columns_add(struct wbi_preview_index *x, struct shape *s, uint64_t line,
                                    const struct line_facts *f, uint16_t *ret_flags);
/* 1 when it holds the largest or the smallest number of its column in the end, 2 when the few
 * others are all one number, 3 when it is far from all others. */
unsigned wbi_columns_peak(const struct wbi_preview_index *x, const struct record *r);

/* Names of kinds of complaints, see preview_kind.c. */
#define KINDS_MAX 64u
struct named_kind {
    uint64_t hash;
    uint64_t offset; /* of the name in the text */
    uint64_t count;
    uint32_t bytes;
};
struct kinds {
    struct named_kind kind[KINDS_MAX];
    size_t n;
    uint64_t lines; /* that name a kind */
};
void wbi_kinds_count(struct kinds *k, struct wbi_str line, uint64_t offset, bool code);

struct wbi_preview_index {
    struct words words;
    struct wbi_buf waiting; /* all of a text that is still small */
    size_t waiting_line;    /* where its unfinished line begins */
    bool looking;           /* lines are looked at as they come, and nothing waits */
    struct wbi_buf carry;   /* start of the line that the next piece goes on with */
    uint64_t carry_more;    /* bytes of that line beyond the carry */
    struct wbi_buf beyond;  /* the last of those, which were not looked at yet, and a little more */
    struct later_part later;
    uint64_t bytes; /* fed */
    uint64_t lines; /* finished lines, the last one too once ended */
    uint64_t units; /* token units, counted up to a limit */
    uint64_t units_counted;
    uint64_t units_bytes; /* what those were counted over */
    uint64_t newlines;    /* in a row, in front of the next line */
    struct record *kept;
    size_t n_kept;
    size_t cap_kept;
    bool full;             /* only what is worse than the bar is kept */
    uint8_t bar;           /* severity */
    struct record *recent; /* ring of the last lines, beyond the kept ones */
    uint64_t n_recent;     /* lines ever put in the ring */
    size_t keep_after;     /* so many lines after a striking one are kept too */
    struct shape *shapes;  /* open addressing */
    size_t n_shapes;
    size_t cap_shapes;
    uint64_t query_lines[QUERY_WORDS];
    struct kinds kinds;
    struct columns *columns;
    size_t n_columns;
    uint64_t complaints;   /* lines that tell a failure */
    uint64_t indents[256]; /* lines by indentation, but blank ones */
    bool in_diff;          /* the line before belongs to a diff */
    struct wbi_str last;   /* the line before, as long as the piece it came with or held */
    uint8_t last_start;    /* of what it says */
    struct wbi_buf held;   /* a copy of it, until the next piece comes */
};

#define RECENT (2048u)

/* The text being chosen from. */
struct source {
    wbi_preview_read read;
    void *arg;
    struct wbi_arena *arena;
};

/* One line on its way into the preview. */
struct pick {
    const struct record *rec;
    struct wbi_str text; /* read lazily; clipped form when it is too long */
    uint32_t units;      /* of text, once priced */
    uint32_t wave;       /* order of choosing, 0 = not shown */
    float score;
    bool priced;
    bool clipped;
    bool frame;                  /* of a chain that was looked at */
    bool elsewhere;              /* complains of something that belongs elsewhere than the rest */
    const struct places *places; /* of a very long line, once looked for */
};

/* Where in a line that tells a failure its reasons may stand, best first. */
#define PLACES_IN_LINE 4u
struct places {
    uint32_t at[PLACES_IN_LINE];
    size_t n;
    struct wbi_str text; /* of the line */
};

#define GAP_UNITS (14u * 256u)

/* The lines that say the same cost more than the notice that stands for them (C6.4). */
static inline bool wbi_pick_folds(const struct pick *p)
{
    return p->rec->again * (p->units + WBI_TOKEN_UNIT * 7ull / 10) > GAP_UNITS;
}

/* What showing it costs, with its newline and the lines that say the same. */
static inline uint64_t wbi_pick_cost(const struct pick *p)
{
    uint64_t line = p->units + WBI_TOKEN_UNIT * 7 / 10;

    return wbi_pick_folds(p) ? line + GAP_UNITS : line * (1 + p->rec->again);
}

struct chooser {
    const struct wbi_preview_index *index;
    const struct wbi_preview_policy *policy;
    struct source source;
    struct wbi_arena *arena;
    struct pick *picks; /* every remembered line, in order */
    size_t n;
    uint64_t units; /* budget */
    uint64_t spent;
    uint64_t line_cap; /* units one line may cost */
    bool reasons;      /* some complaints say why */
    uint64_t pieced;   /* bytes of long lines that were looked at piece by piece */
    uint32_t wave;
    uint64_t *seen;          /* lines that were offered as rare, by what they say */
    struct outline *outline; /* NULL without one */
    struct wbi_buf groups;   /* what the groups of alike lines say, rendered */
    struct wbi_buf out;      /* what was rendered last */
    uint64_t rendered;       /* its units */
};

static inline bool wbi_neighbours(const struct chooser *c, size_t a, size_t b)
{
    return c->picks[b].rec->line == c->picks[a].rec->line + c->picks[a].rec->again + 1;
}

static inline bool wbi_shown(const struct chooser *c, size_t i)
{
    return c->picks[i].wave != 0;
}

/* Lines of the shape of r. */
static inline uint64_t wbi_alike(const struct chooser *c, const struct record *r)
{
    return c->index->shapes[r->shape].count;
}

/* From so many lines of one shape on they are told as a group. */
#define GROUP_FROM 20u
#define OPENINGS 4096u /* slots for what lines begin with */
#define FAILURE 42u    /* severity from which a line counts as telling a failure */
#define SURE 80u       /* severity that leaves little doubt */

/* Units of a budget that may be used by estimate: that may be a little under
 * the exact count. */
static inline uint64_t wbi_preview_usable(uint64_t budget)
{
    return budget * WBI_TOKEN_UNIT * 96 / 100;
}

/* preview_index.c: look at the lines that nobody looked at yet. Records say nothing before. */
WB_MUST_CHECK wb_rc wbi_index_look(struct wbi_preview_index *index);
/* The remembered lines in order, kept and recent joined, into c->picks. */
WB_MUST_CHECK wb_rc wbi_index_picks(struct chooser *c);
/* preview_clip.c: what a line costs, read only where that is not known; its text. */
WB_MUST_CHECK wb_rc wbi_pick_price(struct chooser *c, struct pick *p);
WB_MUST_CHECK wb_rc wbi_pick_load(struct chooser *c, struct pick *p);
/* Lines that are shown in parts get so many units more, shared between them. */
WB_MUST_CHECK wb_rc wbi_grow_clipped(struct chooser *c, uint64_t left);
/* preview_pieces.c: up to PLACES_IN_LINE places in the text of a long line, best first. */
WB_MUST_CHECK wb_rc wbi_find_places(struct chooser *c, struct wbi_str text, uint32_t *place,
                                    size_t *ret_n);
/* preview_select.c */
WB_MUST_CHECK wb_rc wbi_choose(struct chooser *c);
/* Spend what c->spent leaves of c->units on rare lines and both ends. */
WB_MUST_CHECK wb_rc wbi_choose_more(struct chooser *c);
/* Show [from, to] if that stays below limit. */
WB_MUST_CHECK wb_rc wbi_offer(struct chooser *c, size_t from, size_t to, uint64_t limit,
                              bool *ret_taken);
/* preview_score.c: few lines hold this word of the command. */
bool wbi_rare_word(const struct chooser *c, unsigned word);
/* By the words of the command that few lines hold; the fewer the better. */
float wbi_command_score(const struct chooser *c, const struct record *r);
/* Scores of all picks: for telling of a failure; for being a heading, a summary, unlike others. */
WB_MUST_CHECK wb_rc wbi_score_failures(struct chooser *c);
WB_MUST_CHECK wb_rc wbi_score_rare(struct chooser *c);
/* preview_evidence.c: among scored failures, those that say why come before what is only named. */
void wbi_prefer_reasons(struct chooser *c);
/* Complaint i says why something failed; values are named right below it. */
bool wbi_is_reason(const struct chooser *c, size_t i);
bool wbi_has_values(const struct chooser *c, size_t i);
/* What stands behind the mark of a marked line. */
struct wbi_str wbi_marked_text(struct wbi_str line);
/* Offer complaint i with the values and changes below it; again: these alone. */
WB_MUST_CHECK wb_rc wbi_offer_reason(struct chooser *c, size_t i, bool again, uint64_t limit,
                                     bool *ret_taken);
/* preview_fill.c: spend what is left on both ends. */
WB_MUST_CHECK wb_rc wbi_fill(struct chooser *c);
/* Lines between two shown ones, where they cost little more than the notice. */
WB_MUST_CHECK wb_rc wbi_close_small_gaps(struct chooser *c);
/* preview_group.c: distinct messages of large groups of failures, into c->groups. */
WB_MUST_CHECK wb_rc wbi_choose_groups(struct chooser *c);
/* preview_kind.c: which kinds of complaints there are, into c->groups. */
WB_MUST_CHECK wb_rc wbi_choose_kinds(struct chooser *c);
/* preview_path.c: what the first path or dotted name of a line begins with, as a hash. */
uint64_t wbi_path_root(struct wbi_str line);
/* The longest name between blanks in a line (a path, a test, a dotted name) as a hash, 0 when
 * it has none that is long enough to be one thing's own. */
uint64_t wbi_longest_name(struct wbi_str line);
#define ROOTS 256u
struct roots { /* all zeros at first */
    uint64_t root[ROOTS];
    uint32_t n[ROOTS];
    uint32_t total;
};
void wbi_roots_add(struct roots *r, uint64_t root);
/* At most one in so many belongs there. */
bool wbi_roots_rare(const struct roots *r, uint64_t root, uint32_t one_in);
/* Sets `elsewhere` of the complaints in a flood. */
WB_MUST_CHECK wb_rc wbi_mark_elsewhere(struct chooser *c);
/* Frames below failure i that belong elsewhere than most of a long chain. */
WB_MUST_CHECK wb_rc wbi_choose_frames(struct chooser *c, size_t i, uint64_t limit);
/* The first frame below failure i that is none of a library, where the first of all is one;
 * *ret_found tells that there is one. */
WB_MUST_CHECK wb_rc wbi_choose_own_frame(struct chooser *c, size_t i, uint64_t limit,
                                         bool *ret_found);
/* preview_outline.c: the few lines that the others are indented under: found, with room
 * kept for them; then told as far as they are not shown. */
WB_MUST_CHECK wb_rc wbi_choose_outline(struct chooser *c);
WB_MUST_CHECK wb_rc wbi_tell_outline(struct chooser *c);
/* preview_row.c: which lines, by pick, are made of other marks and fields than nearly all of a
 * table; NULL when there is none. For small texts only. */
WB_MUST_CHECK wb_rc wbi_rows_rare(struct chooser *c, bool **ret);
/* preview_render.c */
WB_MUST_CHECK wb_rc wbi_render(struct chooser *c, struct wbi_preview *ret);
/* preview_json.c: WB_EINPUT when text is no JSON worth it; with `whole` also when not all of
 * it can be shown. */
WB_MUST_CHECK wb_rc wbi_preview_json(struct wbi_arena *arena, struct wbi_str text, uint64_t lines,
                                     bool whole, const struct wbi_preview_policy *policy,
                                     struct wbi_preview *ret);
/* The read call with its range put in; nothing when the policy has none. */
void wbi_preview_read_hint(struct wbi_buf *out, const struct wbi_preview_policy *policy,
                           uint64_t first, uint64_t last);

#endif
