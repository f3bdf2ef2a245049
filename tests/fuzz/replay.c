/* SPDX-License-Identifier: Apache-2.0
 * tests/fuzz/replay.c: run a fuzz target over its kept inputs as a plain test. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    size_t n, cap = 1 << 20;
    uint8_t *data;

    if (f == NULL)
        return 1;
    data = malloc(cap);
    n = data ? fread(data, 1, cap, f) : 0;
    fclose(f);
    LLVMFuzzerTestOneInput(data, n);
    free(data);
    return 0;
}

int main(int argc, char **argv)
{
    struct dirent *e;
    unsigned long ran = 0;
    DIR *d;

    LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    d = argc > 1 ? opendir(argv[1]) : NULL;
    if (d == NULL) {
        fprintf(stderr, "no corpus at %s\n", argc > 1 ? argv[1] : "(none given)");
        return 1;
    }
    while ((e = readdir(d)) != NULL) {
        char path[4096];
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", argv[1], e->d_name);
        if (run_file(path) != 0) {
            fprintf(stderr, "cannot read %s\n", path);
            return 1;
        }
        ran++;
    }
    closedir(d);
    printf("%lu inputs replayed\n", ran);
    return ran > 0 ? 0 : 1;
}
