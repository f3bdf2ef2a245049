/* SPDX-License-Identifier: Apache-2.0
 * schema/meta.c: the meta-schemas, as published, by their URIs. */
#include "base/checked.h"
#include "schema/compile_int.h"

#define META_SCHEMAS(X)                                                                    \
    X("http://json-schema.org/draft-07/schema", draft07_json)                              \
    X("https://json-schema.org/draft/2020-12/schema", meta2020_schema_json)                \
    X("https://json-schema.org/draft/2020-12/meta/core", meta2020_core_json)               \
    X("https://json-schema.org/draft/2020-12/meta/applicator", meta2020_applicator_json)   \
    X("https://json-schema.org/draft/2020-12/meta/unevaluated", meta2020_unevaluated_json) \
    X("https://json-schema.org/draft/2020-12/meta/validation", meta2020_validation_json)   \
    X("https://json-schema.org/draft/2020-12/meta/meta-data", meta2020_meta_data_json)     \
    X("https://json-schema.org/draft/2020-12/meta/format-annotation",                      \
      meta2020_format_annotation_json)                                                     \
    X("https://json-schema.org/draft/2020-12/meta/format-assertion",                       \
      meta2020_format_assertion_json)                                                      \
    X("https://json-schema.org/draft/2020-12/meta/content", meta2020_content_json)

#define X(uri, name)                            \
    extern const char wbi_data_schema_##name[]; \
    extern const size_t wbi_data_schema_##name##_n;
META_SCHEMAS(X)
#undef X

struct meta {
    struct wbi_str uri;
    const char *text;
    const size_t *n;
};

struct wbi_str wbi_embedded_schema(struct wbi_str uri)
{
    static const struct meta all[] = {
#define X(uri, name) {WBI_LIT_INIT(uri), wbi_data_schema_##name, &wbi_data_schema_##name##_n},
        META_SCHEMAS(X)
#undef X
    };

    for (size_t i = 0; i < WBI_COUNT(all); i++)
        if (wbi_str_eq(all[i].uri, uri))
            return wbi_str_make(all[i].text, *all[i].n);
    return WBI_NONE;
}
