/* SPDX-License-Identifier: Apache-2.0
 * text/preview_words.c: the vocabulary in which programs complain, and the words of the
 * command. No word here belongs to a single program. */
#include <pthread.h>

#include "text/preview_words_int.h"
#include "text/tokens_int.h"

struct word {
    const char *text;
    uint8_t weight;
    uint8_t kind;
};

/* Weights: how sure the word alone makes us that the line tells what went wrong. */
static const struct word vocabulary[] = {
    {"fatal", 100, KIND_GRAVE},
    {"panic", 100, KIND_GRAVE},
    {"panicked", 100, KIND_FAIL},
    {"segfault", 100, KIND_FAIL},
    {"segmentation", 95, KIND_FAIL},
    {"traceback", 85, KIND_FAIL},
    {"abort", 85, KIND_FAIL},
    {"aborted", 90, KIND_FAIL},
    {"aborting", 85, KIND_FAIL},
    {"crash", 80, KIND_FAIL},
    {"crashed", 95, KIND_FAIL},
    {"sigsegv", 100, KIND_FAIL},
    {"sigabrt", 100, KIND_FAIL},
    {"sigkill", 95, KIND_FAIL},
    {"sigbus", 100, KIND_FAIL},
    {"sigfpe", 100, KIND_FAIL},
    {"sigill", 100, KIND_FAIL},
    {"error", 90, KIND_ERROR},
    {"errors", 75, KIND_FAIL},
    {"err", 75, KIND_ERROR},
    {"exception", 90, KIND_FAIL},
    {"failed", 92, KIND_FAIL},
    {"fail", 90, KIND_FAIL},
    {"failure", 90, KIND_FAIL},
    {"failures", 80, KIND_FAIL},
    {"failing", 80, KIND_FAIL},
    {"fails", 70, KIND_FAIL},
    {"unhandled", 85, KIND_FAIL},
    {"uncaught", 90, KIND_FAIL},
    {"caused", 80, KIND_FAIL},
    {"assertion", 88, KIND_FAIL},
    {"assert", 60, KIND_FAIL},
    {"undefined", 80, KIND_FAIL},
    {"undeclared", 90, KIND_FAIL},
    {"unresolved", 85, KIND_FAIL},
    {"conflict", 85, KIND_FAIL},
    {"conflicts", 75, KIND_FAIL},
    {"conflicting", 75, KIND_FAIL},
    {"rejected", 88, KIND_FAIL},
    {"denied", 85, KIND_FAIL},
    {"refused", 85, KIND_FAIL},
    {"econnrefused", 85, KIND_FAIL},
    {"econnreset", 85, KIND_FAIL},
    {"etimedout", 85, KIND_FAIL},
    {"ehostunreach", 85, KIND_FAIL},
    {"enetunreach", 85, KIND_FAIL},
    {"eaddrinuse", 88, KIND_FAIL},
    {"eacces", 80, KIND_FAIL},
    {"eperm", 80, KIND_FAIL},
    {"erofs", 85, KIND_FAIL},
    {"enospc", 90, KIND_FAIL},
    {"edquot", 90, KIND_FAIL},
    {"emfile", 85, KIND_FAIL},
    {"enomem", 85, KIND_FAIL},
    {"eio", 80, KIND_FAIL},
    {"invalid", 80, KIND_FAIL},
    {"illegal", 80, KIND_FAIL},
    {"unable", 85, KIND_FAIL},
    {"cannot", 85, KIND_FAIL},
    {"couldn", 85, KIND_FAIL},
    {"missing", 60, KIND_FAIL},
    {"mismatch", 80, KIND_FAIL},
    {"mismatched", 80, KIND_FAIL},
    {"corrupt", 80, KIND_FAIL},
    {"corrupted", 80, KIND_FAIL},
    {"corruption", 80, KIND_FAIL},
    {"leak", 70, KIND_FAIL},
    {"leaked", 75, KIND_FAIL},
    {"leaks", 65, KIND_FAIL},
    {"lost", 55, KIND_FAIL},
    {"overflow", 75, KIND_FAIL},
    {"killed", 88, KIND_FAIL},
    {"timeout", 70, KIND_FAIL},
    {"timed", 70, KIND_FAIL},
    {"unexpected", 75, KIND_FAIL},
    {"unmet", 80, KIND_FAIL},
    {"broken", 65, KIND_FAIL},
    {"incompatible", 70, KIND_FAIL},
    {"unknown", 50, KIND_FAIL},
    {"expected", 55, KIND_FAIL},
    {"received", 40, KIND_FAIL},
    {"actual", 45, KIND_FAIL},
    {"wrong", 60, KIND_FAIL},
    {"bad", 60, KIND_FAIL},
    {"uninitialized", 70, KIND_FAIL},
    {"uninitialised", 70, KIND_FAIL},
    {"detected", 45, KIND_FAIL},
    {"unsupported", 55, KIND_FAIL},
    {"violation", 75, KIND_FAIL},
    {"violates", 70, KIND_FAIL},
    {"unreachable", 70, KIND_FAIL},
    {"exceeded", 65, KIND_FAIL},
    {"exhausted", 70, KIND_FAIL},
    {"interrupted", 65, KIND_FAIL},
    {"terminated", 70, KIND_FAIL},
    {"oom", 80, KIND_FAIL},
    {"bug", 55, KIND_FAIL},
    {"critical", 80, KIND_GRAVE},
    {"severe", 75, KIND_GRAVE},
    {"crit", 70, KIND_GRAVE},
    {"emerg", 90, KIND_GRAVE},
    {"alert", 60, KIND_GRAVE},
    {"incomplete", 70, KIND_FAIL},
    {"duplicate", 45, KIND_FAIL},
    {"unrecognized", 65, KIND_FAIL},
    {"forbidden", 70, KIND_FAIL},
    {"unauthorized", 75, KIND_FAIL},
    {"stopped", 62, KIND_FAIL},
    {"deadlock", 85, KIND_FAIL},
    {"race", 62, KIND_FAIL},
    {"overrun", 70, KIND_FAIL},
    {"misaligned", 60, KIND_FAIL},
    {"problem", 55, KIND_FAIL},
    {"problems", 60, KIND_FAIL},
    {"regression", 60, KIND_FAIL},
    {"unavailable", 80, KIND_FAIL},
    {"insufficient", 75, KIND_FAIL},
    {"expired", 75, KIND_FAIL},
    {"declined", 70, KIND_FAIL},
    {"malformed", 70, KIND_FAIL},
    {"unterminated", 70, KIND_FAIL},
    {"unsatisfied", 75, KIND_FAIL},
    {"redefinition", 80, KIND_FAIL},
    {"ambiguous", 65, KIND_FAIL},
    {"overflows", 75, KIND_FAIL},
    {"underflow", 70, KIND_FAIL},
    {"dereference", 55, KIND_FAIL},
    {"freed", 50, KIND_FAIL},
    {"dumped", 70, KIND_FAIL},
    {"hung", 65, KIND_FAIL},
    {"stuck", 60, KIND_FAIL},
    {"zombie", 60, KIND_FAIL},
    {"defunct", 65, KIND_FAIL},
    {"degraded", 60, KIND_FAIL},
    {"unhealthy", 70, KIND_FAIL},
    {"evicted", 60, KIND_FAIL},
    {"throttled", 55, KIND_FAIL},
    {"inconsistent", 60, KIND_FAIL},
    {"disconnected", 60, KIND_FAIL},
    {"unreadable", 70, KIND_FAIL},
    {"disallowed", 60, KIND_FAIL},
    {"prohibited", 60, KIND_FAIL},
    {"vulnerable", 55, KIND_FAIL},
    {"vulnerabilities", 60, KIND_FAIL},
    {"retrying", 45, KIND_FAIL},
    {"dropped", 45, KIND_FAIL},
    {"discarded", 45, KIND_FAIL},
    {"truncated", 48, KIND_FAIL},
    {"blocked", 48, KIND_FAIL},
    {"exceeds", 60, KIND_FAIL},
    {"unsuccessful", 80, KIND_FAIL},
    {"unspecified", 45, KIND_FAIL},
    {"nonzero", 65, KIND_FAIL},
    {"cancelled", 50, KIND_FAIL},
    {"canceled", 50, KIND_FAIL},
    {"died", 80, KIND_FAIL},
    {"deadly", 85, KIND_FAIL},
    {"oops", 85, KIND_FAIL},
    {"lockup", 85, KIND_FAIL},
    {"stalled", 65, KIND_FAIL},
    {"faulty", 65, KIND_FAIL},
    {"faulted", 75, KIND_FAIL},
    {"unbound", 70, KIND_FAIL},
    {"unclosed", 70, KIND_FAIL},
    {"unsatisfiable", 80, KIND_FAIL},
    {"unrecoverable", 90, KIND_FAIL},
    {"uncorrectable", 75, KIND_FAIL},
    {"unresponsive", 75, KIND_FAIL},
    {"unauthenticated", 70, KIND_FAIL},
    {"revoked", 70, KIND_FAIL},
    {"violated", 70, KIND_FAIL},
    {"misconfigured", 70, KIND_FAIL},
    {"flaky", 60, KIND_FAIL},
    {"rejecting", 70, KIND_FAIL},
    {"refusing", 75, KIND_FAIL},
    {"nonexistent", 60, KIND_FAIL},
    {"abnormal", 65, KIND_FAIL},
    {"abnormally", 75, KIND_FAIL},
    {"erroneous", 65, KIND_FAIL},
    {"vulnerability", 60, KIND_FAIL},
    {"mismatches", 75, KIND_FAIL},
    {"leaking", 70, KIND_FAIL},
    {"tampered", 75, KIND_FAIL},
    {"fehler", 90, KIND_FAIL},
    {"fehlgeschlagen", 90, KIND_FAIL},
    {"abgebrochen", 80, KIND_FAIL},
    {"erreur", 90, KIND_FAIL},
    {"errore", 90, KIND_FAIL},
    {"erro", 90, KIND_FAIL},
    {"fallo", 80, KIND_FAIL},
    {"fallido", 80, KIND_FAIL},
    {"falhou", 88, KIND_FAIL},
    {"fallito", 85, KIND_FAIL},
    {"impossible", 70, KIND_FAIL},
    {"warning", 26, KIND_WARNS},
    {"warn", 24, KIND_WARNS},
    {"warnings", 24, KIND_WARN},
    {"deprecated", 22, KIND_WARN},
    {"obsolete", 22, KIND_WARN},
    {"warnung", 26, KIND_WARN},
    {"avertissement", 26, KIND_WARN},
    {"advertencia", 26, KIND_WARN},
    {"implicit", 40, KIND_WARN},
    {"note", 6, KIND_NOTE},
    {"passed", 42, KIND_PASS},
    {"pass", 20, KIND_PASS},
    {"ok", 5, KIND_PASS},
    {"success", 20, KIND_PASS},
    {"successful", 20, KIND_PASS},
    {"succeeded", 25, KIND_PASS},
    {"total", 32, KIND_SUMMARY},
    {"summary", 45, KIND_SUMMARY},
    {"tests", 34, KIND_SUMMARY},
    {"result", 40, KIND_SUMMARY},
    {"results", 34, KIND_SUMMARY},
    {"returned", 40, KIND_SUMMARY},
    {"exited", 62, KIND_EXIT},
    {"exit", 45, KIND_EXIT},
    {"finished", 30, KIND_SUMMARY},
    {"done", 12, KIND_SUMMARY},
    {"completed", 24, KIND_SUMMARY},
    {"elapsed", 25, KIND_SUMMARY},
    {"installed", 22, KIND_SUMMARY},
    {"upgraded", 22, KIND_SUMMARY},
    {"removed", 16, KIND_SUMMARY},
    {"skipped", 26, KIND_SUMMARY},
    {"changed", 20, KIND_SUMMARY},
    {"renamed", 26, KIND_SUMMARY},
    {"insertions", 30, KIND_SUMMARY},
    {"deletions", 30, KIND_SUMMARY},
    {"status", 18, KIND_SUMMARY},
    {"not", 12, KIND_NOT},
    {"no", 8, KIND_NOT},
    {"didn", 50, KIND_NOT},
    {"can", 0, KIND_NOT},
    {"could", 0, KIND_NOT},
    {"such", 0, KIND_NONE},
    {"found", 0, KIND_NONE},
    {"defined", 0, KIND_NONE},
    {"permitted", 0, KIND_NONE},
    {"allowed", 0, KIND_NONE},
    {"exist", 0, KIND_NONE},
    {"resolved", 0, KIND_NONE},
    {"valid", 0, KIND_NONE},
    {"satisfied", 0, KIND_NONE},
    {"debug", 0, KIND_QUIET},
    {"trace", 0, KIND_QUIET},
    {"verbose", 0, KIND_QUIET},
    {"line", 0, KIND_PLACE},
    {"level", 0, KIND_LEVEL},
    {"severity", 0, KIND_LEVEL},
};

/* Two words that together say more than either. */
struct pair {
    const char *first;
    const char *second;
    uint8_t weight;
};
static const struct pair pairs[PAIRS] = {
    {"not", "ok", 95},        {"not", "found", 78},   {"no", "such", 82},
    {"could", "not", 88},     {"can", "not", 85},     {"not", "defined", 70},
    {"not", "permitted", 82}, {"not", "allowed", 75}, {"not", "exist", 62},
    {"not", "resolved", 70},  {"not", "valid", 70},   {"not", "satisfied", 75},
};

static uint64_t hash_word(struct wbi_str s)
{
    const uint8_t *p = (const uint8_t *)s.p;

    return hash_letters(p, s.n, p + s.n);
}

static bool is_letter(uint8_t c)
{
    return (uint8_t)((c | 0x20) - 'a') < 26 || c == '_';
}

/* The command's words of four letters and more that mean nothing by themselves. */
static void add_query(struct words *w, struct wbi_str command)
{
    size_t at = 0, from;

    while (at < command.n && w->n_query < QUERY_WORDS) {
        while (at < command.n && !is_letter((uint8_t)command.p[at]))
            at++;
        from = at;
        while (at < command.n && is_letter((uint8_t)command.p[at]))
            at++;
        if (at - from >= 4) {
            uint64_t hash = hash_word(wbi_str_make(command.p + from, at - from));

            if (slot_of(w, hash)->hash == 0) {
                w->query[slot_in(w->query, QUERY_SLOTS, hash)] =
                    (struct word_slot){hash, 0, KIND_NONE, (uint8_t)++w->n_query};
                set_maybe(w->maybe, hash);
                set_begins(w->begins, (const uint8_t *)command.p + from, at - from);
            }
        }
    }
}

/* The vocabulary and the pairs by their hashes; never changed once they are made. */
static struct word_slot known[WORD_SLOTS];
static uint64_t known_maybe[WORD_BITS / 64];
static uint8_t known_begins[BEGIN][64];
static uint64_t known_pairs[PAIRS][2];
static pthread_once_t made = PTHREAD_ONCE_INIT;

static void make_known(void)
{
    for (size_t i = 0; i < sizeof vocabulary / sizeof *vocabulary; i++) {
        struct wbi_str text = wbi_str_z(vocabulary[i].text);
        uint64_t hash = hash_word(text);

        known[slot_in(known, WORD_SLOTS, hash)] =
            (struct word_slot){hash, vocabulary[i].weight, vocabulary[i].kind, 0};
        set_maybe(known_maybe, hash);
        set_begins(known_begins, (const uint8_t *)text.p, text.n);
    }
    for (size_t i = 2; i < BEGIN; i++)
        for (size_t c = 0; c < 64; c++)
            known_begins[i][c] |= SHORT_WORDS;
    for (size_t i = 0; i < PAIRS; i++) {
        known_pairs[i][0] = hash_word(wbi_str_z(pairs[i].first));
        known_pairs[i][1] = hash_word(wbi_str_z(pairs[i].second));
    }
}

void wbi_words_init(struct words *w, struct wbi_str command)
{
    (void)pthread_once(&made, make_known);
    *w = (struct words){.known = known, .lanes = wbi_tokens_lanes()};
    memcpy(w->maybe, known_maybe, sizeof w->maybe);
    memcpy(w->begins, known_begins, sizeof w->begins);
    add_query(w, command);
}

uint8_t wbi_words_pair(uint64_t first, uint64_t second)
{
    for (size_t i = 0; i < PAIRS; i++)
        if (known_pairs[i][1] == second && known_pairs[i][0] == first)
            return pairs[i].weight;
    return 0;
}
