/* SPDX-License-Identifier: Apache-2.0
 * cli/forms.c: whether the words of a command line are what the command takes, and
 * if not, what was wrong and what is accepted. */
#include <string.h>

#include "cli/cli.h"

/* How many words a form has, its verb included. */
struct shape {
    size_t verb; /* length, 0 without one */
    size_t least, most;
};

static struct shape shape_of(const char *form)
{
    struct shape s = {0, 0, 0};

    if (*form >= 'a' && *form <= 'z')
        s.verb = strcspn(form, " ");
    while (*form != '\0') {
        size_t n = strcspn(form, " ");

        s.least += *form != '[';
        s.most++;
        form += n + (form[n] == ' ');
    }
    return s;
}

/* The form that is meant, NULL when there is none. A command without words is its
 * form without a verb. */
static const struct form *find_form(const struct args *a)
{
    const struct form *bare = NULL;
    bool verbs = false;

    for (const struct form *f = a->command->forms; f->words != NULL; f++) {
        size_t n = shape_of(f->words).verb;

        verbs |= n > 0;
        if (n == 0)
            bare = f;
        else if (a->word_count > 0 && strlen(a->words[0]) == n &&
                 strncmp(a->words[0], f->words, n) == 0)
            return f;
    }
    return a->word_count == 0 || !verbs ? bare : NULL;
}

/* "list, show ID or check [FILE…]" */
static void name_forms(const struct args *a, char *out, size_t size)
{
    const struct form *f = a->command->forms;
    size_t n = 0;

    out[0] = '\0';
    for (; f->words != NULL && n < size; f++) {
        bool last = f[1].words == NULL || f[1].words[0] == '\0'; /* "" stands at the end */

        if (f->words[0] != '\0')
            n += (size_t)snprintf(out + n, size - n, "%s%s", n == 0 ? "" : (last ? " or " : ", "),
                                  f->words);
    }
}

/* The word of a form at that place, at most `size` bytes of it. */
static void name_word(const char *form, size_t place, char *out, size_t size)
{
    size_t n;

    for (; place > 0; place--)
        form += strcspn(form, " ") + 1;
    n = strcspn(form, " ");
    (void)snprintf(out, size, "%.*s", (int)n, form);
}

static void say_form(const struct args *a, const struct form *f, const char *word, const char *how)
{
    (void)usage_error(a, "%s is %s; say waybill %s%s%s%s%s", word, how, a->command->name,
                      f->words[0] != '\0' ? " " : "", f->words, f->hint ? "; " : "",
                      f->hint ? f->hint : "");
}

static bool goes_with(const struct option_spec *o, const char *verb, size_t n)
{
    const char *at = o->of;

    while (at != NULL && *at != '\0') {
        size_t length = strcspn(at, " ");

        if (length == n && strncmp(at, verb, n) == 0)
            return true;
        at += length + (at[length] == ' ');
    }
    return o->of == NULL;
}

/* Without words the first form is meant. */
static bool options_fit(const struct args *a)
{
    const char *verb = a->word_count > 0 ? a->words[0] : a->command->forms[0].words;
    size_t n = strcspn(verb, " ");

    for (size_t i = 0; i < a->option_count; i++) {
        const struct option_spec *o = a->options[i].spec;

        if (goes_with(o, verb, n))
            continue;
        (void)usage_error(a, "%s does not go with %.*s; it goes with: %s", o->name, (int)n, verb,
                          o->of);
        return false;
    }
    return true;
}

bool forms_check(const struct args *a)
{
    const struct form *f = find_form(a);
    struct shape s = f ? shape_of(f->words) : (struct shape){0, 0, 0};
    char text[512];

    if (f != NULL && a->word_count < s.least) {
        name_word(f->words, a->word_count, text, sizeof(text));
        say_form(a, f, text, "missing");
        return false;
    }
    if (f != NULL && a->word_count > s.most && strstr(f->words, "…") == NULL) {
        (void)snprintf(text, sizeof(text), "\"%s\"", a->words[s.most]);
        say_form(a, f, text, "too much");
        return false;
    }
    if (f != NULL)
        return options_fit(a);
    name_forms(a, text, sizeof(text));
    if (a->word_count == 0)
        (void)usage_error(a, "say what to do: %s", text);
    else
        (void)usage_error(a, "there is no \"%s\"; say %s", a->words[0], text);
    return false;
}
