/* SPDX-License-Identifier: Apache-2.0
 * cli/talk.c: messages, output and input of the commands. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

/* U+0080 to U+009F: a terminal may take them as it takes ESC and a letter. */
static bool is_c1(const char *text)
{
    return (unsigned char)text[0] == 0xc2 && (unsigned char)text[1] >= 0x80 &&
           (unsigned char)text[1] < 0xa0;
}

/* Zero width and bidirectional characters: what stands there is not what is seen. U+200B to
 * U+200F, U+2028 to U+202E, U+2060 to U+206F, U+FEFF; and U+061C of two bytes. */
static size_t hidden(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;

    if (c[0] == 0xd8 && c[1] == 0x9c)
        return 2;
    if (c[0] == 0xef && c[1] == 0xbb && c[2] == 0xbf)
        return 3;
    if (c[0] != 0xe2 || (c[1] != 0x80 && c[1] != 0x81) || c[2] < 0x80 || c[2] > 0xaf)
        return 0;
    if (c[1] == 0x81)
        return c[2] >= 0xa0 ? 3 : 0;
    return (c[2] >= 0x8b && c[2] <= 0x8f) || (c[2] >= 0xa8 && c[2] <= 0xae) ? 3 : 0;
}

void make_one_line(char *line)
{
    char *out = line;

    while (*line != '\0') {
        size_t n = is_c1(line) ? 2 : hidden(line);

        *out++ = iscntrl((unsigned char)*line) || n > 0 ? '?' : *line;
        line += n > 0 ? n : 1; /* its bytes, one `?` */
    }
    *out = '\0';
}

__attribute__((format(printf, 2, 0))) static void message(const struct args *a, const char *fmt,
                                                          va_list ap)
{
    char *text = NULL;

    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    else
        make_one_line(text);
    fprintf(stderr, "waybill%s%s: %s\n", a->command ? " " : "", a->command ? a->command->name : "",
            text ? text : "out of memory");
    free(text);
}

int usage_error(const struct args *a, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    message(a, fmt, ap);
    va_end(ap);
    return EXIT_USAGE;
}

void note(const struct args *a, const char *fmt, ...)
{
    va_list ap;

    if (a->quiet)
        return;
    va_start(ap, fmt);
    message(a, fmt, ap);
    va_end(ap);
}

void warn(const struct args *a, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    message(a, fmt, ap);
    va_end(ap);
}

int exit_code_of(wb_rc rc)
{
    switch (rc) {
    case WB_OK:
        return EXIT_OK;
    case WB_EINPUT:
    case WB_ELIMIT:
    case WB_EUNSUPPORTED:
        return EXIT_USAGE;
    case WB_ESTATE:
    case WB_EIO:
    case WB_EDENIED:
        return EXIT_STATE;
    case WB_ENOTFOUND:
    case WB_EEXISTS:
    case WB_ECANCELLED:
    case WB_EAGAIN:
        return EXIT_NEGATIVE;
    default:
        return EXIT_INTERNAL;
    }
}

const char *error_place(const wb_error *error, char *buf, size_t size)
{
    const char *at = wb_error_at(error);
    int n = snprintf(buf, size, "%s%s", at, *at ? ": " : "");

    if (wb_error_line(error) > 0 && n >= 0 && (size_t)n < size)
        (void)snprintf(buf + n, size - (size_t)n, "%u:%u: ", wb_error_line(error),
                       wb_error_column(error));
    return buf;
}

int fail(const struct args *a, const char *what, wb_error *error)
{
    int code = exit_code_of(wb_error_rc(error));
    const char *text = wb_error_text(error);
    size_t n = strlen(a->command->name);
    char place[PLACE_SIZE];

    if (strncmp(text, a->command->name, n) == 0 && strncmp(text + n, ": ", 2) == 0)
        text += n + 2; /* "waybill ledger: ledger: …" */
    if (what == NULL)
        what = "";
    (void)usage_error(a, "%s%s%s%s", what, *what ? ": " : "",
                      error_place(error, place, sizeof(place)), text);
    wb_error_free(error);
    return code;
}

/* ---- standard streams that do not block ---- */

static void wait_until(int fd, short events)
{
    struct pollfd p = {.fd = fd, .events = events};

    (void)poll(&p, 1, -1); /* interrupted or not, the next try tells */
}

static ssize_t write_waiting(void *fd, const char *text, size_t n)
{
    size_t done = 0;

    while (done < n) {
        ssize_t wrote = write((int)(intptr_t)fd, text + done, n - done);
        if (wrote >= 0)
            done += (size_t)wrote;
        else if (errno == EAGAIN)
            wait_until((int)(intptr_t)fd, POLLOUT);
        else if (errno != EINTR)
            break;
    }
    return (ssize_t)done;
}

static ssize_t read_waiting(void *fd, char *room, size_t n)
{
    ssize_t got;

    while ((got = read((int)(intptr_t)fd, room, n)) < 0 && (errno == EAGAIN || errno == EINTR))
        if (errno == EAGAIN)
            wait_until((int)(intptr_t)fd, POLLIN);
    return got;
}

static void make_patient(FILE **stream, int fd, const char *mode)
{
    const cookie_io_functions_t io = {.read = read_waiting, .write = write_waiting};
    int flags = fcntl(fd, F_GETFL);
    FILE *f;

    if (flags < 0 || !(flags & O_NONBLOCK))
        return;
    f = fopencookie((void *)(intptr_t)fd, mode, io);
    if (f == NULL)
        return; /* as it is, then */
    if (fd == STDERR_FILENO)
        (void)setvbuf(f, NULL, _IONBF, 0);
    else if (isatty(fd))
        (void)setvbuf(f, NULL, _IOLBF, 0);
    *stream = f;
}

void make_streams_patient(void)
{
    make_patient(&stdin, STDIN_FILENO, "r");
    make_patient(&stdout, STDOUT_FILENO, "w");
    make_patient(&stderr, STDERR_FILENO, "w");
}

/* ---- output and input ---- */

static int write_errno; /* errno of the first output that could not be written */

static bool wrote(bool ok)
{
    if (!ok && write_errno == 0)
        write_errno = errno;
    return ok;
}

bool put(const char *text, size_t size)
{
    return wrote(fwrite(text, 1, size, stdout) == size);
}

bool put_line(const char *text, size_t size)
{
    return put(text, size) && fputc('\n', stdout) != EOF;
}

void put_quoted(FILE *out, const char *text, size_t n)
{
    fputc('"', out);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 0x20)
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

bool flush_output(void)
{
    return wrote(fflush(stdout) == 0) && !ferror(stdout);
}

bool reader_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};

    return write_errno == EPIPE || (poll(&out, 1, 0) > 0 && (out.revents & POLLERR) != 0);
}

int finish_output(int code)
{
    if (flush_output())
        return code;
    if (reader_gone())
        return code == EXIT_OK ? EXIT_NO_READER : code;
    fprintf(stderr, "waybill: cannot write the output: %s\n",
            strerror(write_errno ? write_errno : EIO));
    return code == EXIT_OK ? EXIT_INTERNAL : code;
}

bool dumb_terminal(void)
{
    const char *term = getenv("TERM");

    return term == NULL || *term == '\0' || strcmp(term, "dumb") == 0;
}

const char *style(const char *name)
{
    static const struct {
        const char *name, *sequence;
    } styles[] = {{"bold", "\033[1m"},   {"dim", "\033[2m"},     {"red", "\033[31m"},
                  {"green", "\033[32m"}, {"yellow", "\033[33m"}, {"reset", "\033[0m"}};
    const char *no_color = getenv("NO_COLOR");

    if (!isatty(STDOUT_FILENO) || dumb_terminal() || (no_color != NULL && *no_color != '\0'))
        return "";
    for (size_t i = 0; i < sizeof(styles) / sizeof(styles[0]); i++)
        if (strcmp(styles[i].name, name) == 0)
            return styles[i].sequence;
    return "";
}

#define FILE_MAX ((size_t)256 * 1024 * 1024)

static char *read_stream(const struct args *a, FILE *f, const char *name, size_t *ret_size)
{
    size_t n = 0, cap = 64 * 1024;
    char *text = malloc(cap);

    while (text != NULL) {
        size_t got = fread(text + n, 1, cap - n - 1, f);
        n += got;
        if (got == 0)
            break;
        if (n + 1 == cap) {
            char *more = cap < FILE_MAX ? realloc(text, cap * 2) : NULL;
            if (more == NULL) {
                free(text);
                (void)usage_error(a, "%s is too large", name);
                return NULL;
            }
            text = more;
            cap *= 2;
        }
    }
    if (text == NULL || ferror(f)) {
        free(text);
        (void)usage_error(a, "cannot read %s: %s", name, strerror(errno));
        return NULL;
    }
    text[n] = '\0';
    *ret_size = n;
    return text;
}

char *read_file(const struct args *a, const char *path, size_t *ret_size)
{
    char *text;
    FILE *f;

    if (strcmp(path, "-") == 0)
        return read_stream(a, stdin, "standard input", ret_size);
    f = fopen(path, "rbe");
    if (f == NULL) {
        (void)usage_error(a, "cannot open %s: %s", path, strerror(errno));
        return NULL;
    }
    text = read_stream(a, f, path, ret_size);
    fclose(f);
    return text;
}

char *read_value(const struct args *a, const char *value, size_t *ret_size)
{
    char *copy;

    if (strcmp(value, "-") == 0)
        return read_file(a, "-", ret_size);
    if (value[0] == '@')
        return read_file(a, value + 1, ret_size);
    copy = strdup(value);
    if (copy == NULL)
        (void)usage_error(a, "out of memory");
    else
        *ret_size = strlen(copy);
    return copy;
}

wb_options *runtime_options(const struct args *a)
{
    wb_options *o = wb_options_new();
    wb_rc rc = o ? WB_OK : WB_ENOMEM;

    if (rc == WB_OK && a->root != NULL)
        rc = wb_options_set(o, WB_OPT_ROOT, a->root);
    if (rc == WB_OK && a->state != NULL)
        rc = wb_options_set(o, WB_OPT_STATE, a->state);
    if (rc == WB_OK && a->config != NULL)
        rc = wb_options_set(o, WB_OPT_CONFIG, a->config);
    if (rc == WB_OK && a->principal != NULL)
        rc = wb_options_set(o, WB_OPT_PRINCIPAL, a->principal);
    if (rc == WB_OK && a->events != NULL)
        rc = wb_options_set(o, WB_OPT_EVENTS, a->events);
    if (rc == WB_OK)
        return o;
    wb_options_free(o);
    (void)usage_error(a, "out of memory");
    return NULL;
}

char *approval_text(const char *approval, size_t size)
{
    char *id = NULL, *tool = NULL, *ms = NULL, *text = NULL;

    if (wb_json_pointer(approval, size, "/id", &id, NULL, NULL) != WB_OK ||
        wb_json_pointer(approval, size, "/tool", &tool, NULL, NULL) != WB_OK ||
        wb_json_pointer(approval, size, "/expiresInMs", &ms, NULL, NULL) != WB_OK ||
        asprintf(&text, "%s waits for a yes: `waybill approve yes %s` (or no) within %lld s", tool,
                 id, (strtoll(ms, NULL, 10) + 999) / 1000) < 0)
        text = NULL;
    wb_free(id);
    wb_free(tool);
    wb_free(ms);
    return text;
}

/* Whoever started it would else see nothing, for minutes. */
static void on_approval(const char *approval, size_t size, void *arg)
{
    char *text = approval_text(approval, size);

    if (text != NULL)
        note(arg, "%s", text);
    free(text);
}

wb_runtime *open_runtime(const struct args *a, int *ret_exit)
{
    wb_options *o = runtime_options(a);
    wb_runtime *runtime = NULL;
    wb_error *error = NULL;
    wb_rc rc;

    *ret_exit = EXIT_INTERNAL;
    if (o == NULL)
        return NULL;
    rc = wb_runtime_new(o, &runtime, &error);
    wb_options_free(o);
    if (rc == WB_OK) {
        wb_runtime_on_approval(runtime, on_approval, (void *)(uintptr_t)a); /* only read */
        return runtime;
    }
    *ret_exit = fail(a, NULL, error);
    if (rc == WB_EINPUT) /* what is wrong stands in a file, not on the command line */
        *ret_exit = EXIT_STATE;
    return NULL;
}

static void on_notice(const char *text, void *arg)
{
    note(arg, "%s", text);
}

void tell_notices(const struct args *a, wb_runtime *runtime)
{
    wb_runtime_on_notice(runtime, on_notice, (void *)(uintptr_t)a); /* which is only read */
}

void close_runtime(const struct args *a, wb_runtime *runtime)
{
    unsigned long long lost = wb_runtime_events_lost(runtime);
    wb_error *error = NULL;

    if (lost > 0)
        note(a, "%llu event%s lost: the reader of --events is gone or too slow", lost,
             lost == 1 ? " was" : "s were");
    if (runtime != NULL && wb_runtime_flush(runtime, &error) != WB_OK)
        note(a, "%s", wb_error_text(error));
    wb_error_free(error);
    wb_runtime_free(runtime);
}
