/* SPDX-License-Identifier: Apache-2.0 */
#include "support/seed.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/hash.h"

#define FENCE WBI_LIT("```")

struct splitter {
    struct wbi_arena *arena;
    struct seed_sentence *out;
    size_t n;
    unsigned section, number;
    struct wbi_str heading;
    struct wbi_buf block; /* the paragraph, item or example being read */
    bool item, fence;
};

static void add_sentence(struct splitter *s, struct wbi_str text)
{
    struct seed_sentence *to = &s->out[s->n];
    uint8_t sum[WBI_SHA256_SIZE];

    text = wbi_str_trim(text);
    if (text.n == 0)
        return;
    if (s->n == SEED_SENTENCES_MAX || wbi_sha256(text.p, text.n, sum) != WB_OK)
        abort();
    *to = (struct seed_sentence){.section = s->section,
                                 .number = ++s->number,
                                 .heading = s->heading,
                                 .text = wbi_str_z(wbi_arena_strz(s->arena, text))};
    wbi_hex(sum, 4, to->hash);
    s->n++;
}

/* Length of the sentence at the start of text: up to a full stop that is followed
 * by something that begins one, or up to an ideographic one. */
static size_t sentence_length(struct wbi_str text)
{
    static const char begins[] = "`\"'([*";

    for (size_t i = 0; i < text.n; i++) {
        if (wbi_str_starts(wbi_str_from(text, i), WBI_LIT("。")))
            return i + 3;
        if (strchr(".!?", text.p[i]) != NULL && i + 2 < text.n && text.p[i + 1] == ' ' &&
            (isupper((unsigned char)text.p[i + 2]) || strchr(begins, text.p[i + 2]) != NULL))
            return i + 1;
    }
    return text.n;
}

static void end_block(struct splitter *s)
{
    struct wbi_str text = wbi_buf_str(&s->block);

    if (wbi_str_starts(text, FENCE)) {
        add_sentence(s, text);
    } else {
        while (text.n > 0) {
            size_t n = sentence_length(text);
            add_sentence(s, wbi_str_head(text, n));
            text = wbi_str_from(text, n);
        }
    }
    wbi_buf_clear(&s->block);
    s->item = false;
}

/* Words of the line, one space between them and before. */
static void add_words(struct splitter *s, struct wbi_str line)
{
    bool space = s->block.n > 0;

    for (size_t i = 0; i < line.n; i++) {
        if (isspace((unsigned char)line.p[i])) {
            space = true;
            continue;
        }
        if (space)
            wbi_buf_addc(&s->block, ' ');
        space = false;
        wbi_buf_addc(&s->block, line.p[i]);
    }
}

/* Length of "- ", "> ", "1. " or "1) " at the start of a line; 0: no item. */
static size_t item_mark(struct wbi_str line)
{
    size_t i = 0;

    if (line.n > 1 && strchr("-*>", line.p[0]) != NULL && line.p[1] == ' ')
        return 2;
    while (i < line.n && isdigit((unsigned char)line.p[i]))
        i++;
    if (i > 0 && i + 1 < line.n && strchr(".)", line.p[i]) != NULL && line.p[i + 1] == ' ')
        return i + 2;
    return 0;
}

/* Documents without blank lines: after an item, words that begin with a capital
 * are a paragraph, the rest of a wrapped item is not. */
static bool begins_paragraph(const struct splitter *s, struct wbi_str line)
{
    return s->item && isupper((unsigned char)line.p[0]) && wbi_str_index(line, ' ') < line.n;
}

static void add_line(struct splitter *s, struct wbi_str line)
{
    bool mark = wbi_str_starts(line, FENCE);

    if (mark && !s->fence)
        end_block(s);
    if (mark || s->fence) {
        add_words(s, line);
        if (mark && s->fence)
            end_block(s);
        s->fence = mark ? !s->fence : s->fence;
    } else if (line.n == 0) {
        end_block(s);
    } else if (line.p[0] == '#') {
        end_block(s);
        s->section++;
        s->number = 0;
        while (line.n > 0 && line.p[0] == '#')
            line = wbi_str_from(line, 1);
        s->heading = wbi_str_z(wbi_arena_strz(s->arena, wbi_str_trim(line)));
    } else {
        size_t n = item_mark(line);
        if (n > 0 || begins_paragraph(s, line))
            end_block(s);
        s->item = s->item || n > 0;
        add_words(s, wbi_str_from(line, n));
    }
}

/* The rest after a block between two lines of ---, if it begins with one. */
static struct wbi_str without_front_matter(struct wbi_str text)
{
    struct wbi_str rule = WBI_LIT("---\n");
    size_t end;

    if (!wbi_str_starts(text, rule))
        return text;
    text = wbi_str_from(text, rule.n);
    end = wbi_str_find(text, rule);
    return wbi_str_from(text, end + rule.n);
}

size_t seed_split(struct wbi_arena *arena, struct wbi_str text, struct seed_sentence *out)
{
    struct splitter s = {.arena = arena, .out = out, .heading = WBI_LIT("")};

    wbi_buf_init(&s.block, 1 << 20);
    for (text = without_front_matter(text); text.n > 0;) {
        size_t n = wbi_str_index(text, '\n');
        add_line(&s, wbi_str_trim(wbi_str_head(text, n)));
        text = wbi_str_from(text, n + 1);
    }
    end_block(&s);
    wbi_buf_fini(&s.block);
    return s.n;
}
