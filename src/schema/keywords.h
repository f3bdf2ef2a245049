/* SPDX-License-Identifier: Apache-2.0
 * schema/keywords.h: the keywords that mean something to the compiler.
 * X(ID, "name", drafts, vocabulary); sorted by name for the binary search. */
#ifndef WBI_SCHEMA_KEYWORDS_H
#define WBI_SCHEMA_KEYWORDS_H

#include "base/slice.h"

#define IN_07 1
#define IN_2020 2
#define IN_BOTH 3

enum wbi_vocabulary {
    VOCAB_CORE = 1,
    VOCAB_APPLICATOR = 2,
    VOCAB_VALIDATION = 4,
    VOCAB_UNEVALUATED = 8,
    VOCAB_FORMAT = 16,        /* the keyword is known */
    VOCAB_FORMAT_ASSERT = 32, /* and asserts */
    VOCAB_DEFAULT = 31
};

/* clang-format off */
#define WBI_KEYWORDS(X) \
    X(ANCHOR, "$anchor", IN_2020, VOCAB_CORE) \
    X(DEFS, "$defs", IN_2020, VOCAB_CORE) \
    X(DYNAMIC_ANCHOR, "$dynamicAnchor", IN_2020, VOCAB_CORE) \
    X(DYNAMIC_REF, "$dynamicRef", IN_2020, VOCAB_CORE) \
    X(ID, "$id", IN_BOTH, VOCAB_CORE) \
    X(REF, "$ref", IN_BOTH, VOCAB_CORE) \
    X(SCHEMA, "$schema", IN_BOTH, VOCAB_CORE) \
    X(ADDITIONAL_ITEMS, "additionalItems", IN_07, VOCAB_APPLICATOR) \
    X(ADDITIONAL_PROPERTIES, "additionalProperties", IN_BOTH, VOCAB_APPLICATOR) \
    X(ALL_OF, "allOf", IN_BOTH, VOCAB_APPLICATOR) \
    X(ANY_OF, "anyOf", IN_BOTH, VOCAB_APPLICATOR) \
    X(CONST, "const", IN_BOTH, VOCAB_VALIDATION) \
    X(CONTAINS, "contains", IN_BOTH, VOCAB_APPLICATOR) \
    X(DEFINITIONS, "definitions", IN_BOTH, VOCAB_CORE) \
    X(DEPENDENCIES, "dependencies", IN_BOTH, VOCAB_APPLICATOR) \
    X(DEPENDENT_REQUIRED, "dependentRequired", IN_2020, VOCAB_VALIDATION) \
    X(DEPENDENT_SCHEMAS, "dependentSchemas", IN_2020, VOCAB_APPLICATOR) \
    X(ELSE, "else", IN_BOTH, VOCAB_APPLICATOR) \
    X(ENUM, "enum", IN_BOTH, VOCAB_VALIDATION) \
    X(EXCLUSIVE_MAXIMUM, "exclusiveMaximum", IN_BOTH, VOCAB_VALIDATION) \
    X(EXCLUSIVE_MINIMUM, "exclusiveMinimum", IN_BOTH, VOCAB_VALIDATION) \
    X(FORMAT, "format", IN_BOTH, VOCAB_FORMAT) \
    X(IF, "if", IN_BOTH, VOCAB_APPLICATOR) \
    X(ITEMS, "items", IN_BOTH, VOCAB_APPLICATOR) \
    X(MAX_CONTAINS, "maxContains", IN_2020, VOCAB_VALIDATION) \
    X(MAX_ITEMS, "maxItems", IN_BOTH, VOCAB_VALIDATION) \
    X(MAX_LENGTH, "maxLength", IN_BOTH, VOCAB_VALIDATION) \
    X(MAX_PROPERTIES, "maxProperties", IN_BOTH, VOCAB_VALIDATION) \
    X(MAXIMUM, "maximum", IN_BOTH, VOCAB_VALIDATION) \
    X(MIN_CONTAINS, "minContains", IN_2020, VOCAB_VALIDATION) \
    X(MIN_ITEMS, "minItems", IN_BOTH, VOCAB_VALIDATION) \
    X(MIN_LENGTH, "minLength", IN_BOTH, VOCAB_VALIDATION) \
    X(MIN_PROPERTIES, "minProperties", IN_BOTH, VOCAB_VALIDATION) \
    X(MINIMUM, "minimum", IN_BOTH, VOCAB_VALIDATION) \
    X(MULTIPLE_OF, "multipleOf", IN_BOTH, VOCAB_VALIDATION) \
    X(NOT, "not", IN_BOTH, VOCAB_APPLICATOR) \
    X(ONE_OF, "oneOf", IN_BOTH, VOCAB_APPLICATOR) \
    X(PATTERN, "pattern", IN_BOTH, VOCAB_VALIDATION) \
    X(PATTERN_PROPERTIES, "patternProperties", IN_BOTH, VOCAB_APPLICATOR) \
    X(PREFIX_ITEMS, "prefixItems", IN_2020, VOCAB_APPLICATOR) \
    X(PROPERTIES, "properties", IN_BOTH, VOCAB_APPLICATOR) \
    X(PROPERTY_NAMES, "propertyNames", IN_BOTH, VOCAB_APPLICATOR) \
    X(REQUIRED, "required", IN_BOTH, VOCAB_VALIDATION) \
    X(THEN, "then", IN_BOTH, VOCAB_APPLICATOR) \
    X(TYPE, "type", IN_BOTH, VOCAB_VALIDATION) \
    X(UNEVALUATED_ITEMS, "unevaluatedItems", IN_2020, VOCAB_UNEVALUATED) \
    X(UNEVALUATED_PROPERTIES, "unevaluatedProperties", IN_2020, VOCAB_UNEVALUATED) \
    X(UNIQUE_ITEMS, "uniqueItems", IN_BOTH, VOCAB_VALIDATION)
/* clang-format on */

enum wbi_keyword {
    KW_NONE = 0,
#define X(id, name, drafts, vocabulary) KW_##id,
    WBI_KEYWORDS(X)
#undef X
        KW_FALSE, /* the schema false itself */
    KW_COUNT
};

struct wbi_keyword_row {
    struct wbi_str name;
    unsigned drafts;
    unsigned vocabulary;
};

/* Row of a keyword; KW_NONE and KW_FALSE have empty names. */
const struct wbi_keyword_row *wbi_keyword_row(enum wbi_keyword keyword);
/* KW_NONE for other names. */
enum wbi_keyword wbi_keyword_find(struct wbi_str name);

#endif
