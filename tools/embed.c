/* SPDX-License-Identifier: Apache-2.0
 * tools/embed.c: turn a data file into a C array.
 * usage: embed NAME INPUT OUTPUT */
#include <stdio.h>

int main(int argc, char **argv)
{
    FILE *in, *out;
    unsigned long n = 0;
    int c;

    if (argc != 4)
        return 2;
    in = fopen(argv[2], "rb");
    out = in ? fopen(argv[3], "wb") : NULL;
    if (out == NULL)
        return 1;
    fprintf(out, "#include <stddef.h>\nextern const char %s[];\nextern const size_t %s_n;\n",
            argv[1], argv[1]);
    fprintf(out, "const char %s[] = {", argv[1]);
    while ((c = getc(in)) != EOF)
        fprintf(out, "%s%d,", n++ % 20 ? "" : "\n", c > 127 ? c - 256 : c);
    fprintf(out, "0};\nconst size_t %s_n = %lu;\n", argv[1], n);
    fclose(in);
    return fclose(out) == 0 ? 0 : 1;
}
