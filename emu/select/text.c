/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sentences from the templates of select/texts.def.  Python shows through in
 * them: repr() of strings, printed dataclasses, lists with quotes.
 */
#include "rules.h"

#include <stddef.h>
#include <string.h>

typedef struct writer {
    mxo_text text;
    size_t used; /* of the whole text, written or not */
} writer;

static void put(writer *w, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (w->used + 1 < w->text.size) {
            w->text.ptr[w->used] = s[i];
        }
        w->used++;
    }
}

static void put_word(writer *w, const char *s)
{
    put(w, s, strlen(s));
}

static void put_number(writer *w, int64_t x)
{
    char digits[24];
    size_t n = sizeof digits;
    uint64_t rest = x < 0 ? 0u - (uint64_t)x : (uint64_t)x;

    do {
        digits[--n] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    if (x < 0) {
        digits[--n] = '-';
    }
    put(w, digits + n, sizeof digits - n);
}

static size_t finish(writer *w)
{
    if (w->text.size > 0) {
        const size_t end = w->used < w->text.size ? w->used : w->text.size - 1;
        w->text.ptr[end] = '\0';
    }
    return w->used;
}

static void put_escaped(writer *w, unsigned char ch)
{
    static const char hex[] = "0123456789abcdef";
    const char code[4] = {'\\', 'x', hex[ch >> 4], hex[ch & 15]};

    switch (ch) {
    case '\n':
        put_word(w, "\\n");
        break;
    case '\r':
        put_word(w, "\\r");
        break;
    case '\t':
        put_word(w, "\\t");
        break;
    case '\\':
        put_word(w, "\\\\");
        break;
    default:
        put(w, code, sizeof code);
        break;
    }
}

/* repr() of a string; bytes of UTF-8 stay as they are. */
static void put_repr(writer *w, const char *s)
{
    const char quote =
        strchr(s, '\'') != NULL && strchr(s, '"') == NULL ? '"' : '\'';

    put(w, &quote, 1);
    for (; *s != '\0'; s++) {
        const unsigned char ch = (unsigned char)*s;
        if (*s == quote) {
            put_word(w, "\\");
            put(w, s, 1);
        } else if (ch < ' ' || ch == 127 || ch == '\\') {
            put_escaped(w, ch);
        } else {
            put(w, s, 1);
        }
    }
    put(w, &quote, 1);
}

static const struct {
    const char *element; /* empty: FP8 of the platform's flavour */
    const char *scale;
} keys[] = {
#define U8 "u8"
#define I8 "i8"
#define FP8 ""
    {"", ""},
#define MXO_SEL_KEY(id, element, scale, user) {element, scale},
#include <mxoracle/select.def>
#undef U8
#undef I8
#undef FP8
};

static void put_key(writer *w, const mxo_select_config *c, unsigned key)
{
    const sel_device d = sel_device_of(c);
    const int fnuz = (d.gfx & sel_rules(c)->switches.fnuz_gfx) != 0;

    if (key == MXO_SEL_KEY_NONE) {
        put_word(w, "None");
        return;
    }
    put_word(w, "QuantKey(");
    put_word(w, keys[key].element[0] != '\0' ? keys[key].element
                : fnuz                       ? "f8e4m3fnuz"
                                             : "f8e4m3fn");
    put_word(w, ",scale(");
    put_word(w, keys[key].scale);
    put_word(w, "),symmetric)");
}

static void put_parallel(writer *w, const mxo_sel_parallel *p)
{
    const struct {
        const char *before;
        int64_t value;
    } fields[] = {{"FusedMoEParallelConfig(tp_size=", p->tp_size},
                  {", pcp_size=", p->pcp_size},
                  {", dp_size=", p->dp_size},
                  {", ep_size=", p->ep_size},
                  {", tp_rank=", p->tp_rank},
                  {", pcp_rank=", p->pcp_rank},
                  {", dp_rank=", p->dp_rank},
                  {", ep_rank=", p->ep_rank},
                  {", sp_size=", p->sp_size}};

    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        put_word(w, fields[i].before);
        put_number(w, fields[i].value);
    }
    put_word(w, p->use_ep ? ", use_ep=True" : ", use_ep=False");
    put_word(w, ", all2all_backend=");
    put_repr(w, p->all2all_backend);
    put_word(w,
             p->enable_eplb ? ", enable_eplb=True)" : ", enable_eplb=False)");
}

static const char *const members[] = {
#define MXO_SEL_BACKEND(id, printed) #id,
#include <mxoracle/select.def>
};

/* [<Mxfp4MoeBackend.NONE: 'None'>, ...] */
static void put_enumeration(writer *w, const mxo_select_config *c)
{
    const char *before = "[";

    for (int b = 0; b < MXO_SEL_N_BACKENDS; b++) {
        if (mxo_select_has_backend(c, (mxo_sel_backend)b)) {
            put_word(w, before);
            put_word(w, "<Mxfp4MoeBackend.");
            put_word(w, members[b]);
            put_word(w, ": ");
            put_repr(w, mxo_select_word(MXO_SEL_WORDS_BACKEND, b));
            put_word(w, ">");
            before = ", ";
        }
    }
    put_word(w, "]");
}

static void put_names(writer *w, const mxo_select_config *c)
{
    const char *name;

    for (int i = 0; (name = mxo_select_name_at(c, i)) != NULL; i++) {
        put_word(w, i == 0 ? "[" : ", ");
        put_repr(w, name);
    }
    put_word(w, "]");
}

static void put_variants(writer *w, const mxo_sel_failure *f)
{
    put_word(w, "[");
    for (int i = 0; i < f->n_variants; i++) {
        put_word(w, i == 0 ? "" : ", ");
        put_repr(w, members[f->variants[i]]);
    }
    put_word(w, "]");
}

static const char *const shouted[] = {
#define MXO_SEL_ACTIVATION(id, name, shout) shout,
#include <mxoracle/select.def>
};

static const char *const reasons[] = {
#define MXO_SEL_REASON(id, text) text,
#include <mxoracle/select/texts.def>
};

static const struct {
    const char *type;
    const char *text;
} errors[] = {
#define MXO_SEL_ERROR(id, type, text) {type, text},
#include <mxoracle/select/texts.def>
};

/* Subject of a sentence. */
typedef struct topic {
    const mxo_select_config *c;
    const mxo_sel_failure *f;
    const mxo_sel_candidate *candidate;
} topic;

typedef void put_value(writer *w, const topic *t);

static void put_template(writer *w, const topic *t, const char *text);

static void value_activation(writer *w, const topic *t)
{
    put_word(w, shouted[t->c->activation]);
}

static void value_backend(writer *w, const topic *t)
{
    put_word(w, mxo_select_word(MXO_SEL_WORDS_BACKEND, t->candidate->backend));
}

static void value_device(writer *w, const topic *t)
{
    put_word(w, mxo_select_word(MXO_SEL_WORDS_PLATFORM, (int)t->c->platform));
}

static void value_enum(writer *w, const topic *t)
{
    put_enumeration(w, t->c);
}

static void value_experts(writer *w, const topic *t)
{
    const char *name =
        mxo_select_word(MXO_SEL_WORDS_EXPERTS, t->candidate->experts);

    put_word(w, name == NULL ? "" : name);
}

static void value_format(writer *w, const topic *t)
{
    put_word(w,
             sel_is_batched(t->c) ? "('batched_experts',)" : "('standard',)");
}

static const sel_class *class_of(const topic *t)
{
    return &sel_rules(t->c)->classes[t->c->version][t->candidate->experts];
}

static void value_kind(writer *w, const topic *t)
{
    const char *kind = sel_humming_kind(t->c);

    for (; *kind != '\0'; kind++) {
        const char lower =
            (char)(*kind >= 'A' && *kind <= 'Z' ? *kind - 'A' + 'a' : *kind);
        put(w, &lower, 1);
    }
}

static void value_own_kind(writer *w, const topic *t)
{
    put_word(w, sel_humming_own(class_of(t)));
}

/* In the order in which the class looks at them. */
static void value_moe_ep(writer *w, const topic *t)
{
    const mxo_select_config *c = t->c;
    const int has_glu =
        c->swiglu_alpha >= c->swiglu_alpha || c->swiglu_beta >= c->swiglu_beta;
    const int is_mega =
        strcmp(c->moe_backend, "flashinfer_moe_ep_mega_deep_gemm") == 0;
    const struct {
        int applies;
        const char *text, *detail;
    } rows[] = {{c->skip_final_all_reduce, "skip_final_all_reduce", ""},
                {c->in_dtype != MXO_SEL_DTYPE_bf16, "activation dtype torch.",
                 mxo_select_word(MXO_SEL_WORDS_DTYPE, (int)c->in_dtype)},
                {c->has_bias, "expert bias", ""},
                {has_glu, "custom SwiGLU alpha or beta", ""},
                {is_mega && c->routing != MXO_SEL_ROUTING_DeepseekV4,
                 "routing method ",
                 mxo_select_word(MXO_SEL_WORDS_ROUTING, (int)c->routing)}};
    const char *before = "";

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].applies) {
            put_word(w, before);
            put_word(w, rows[i].text);
            put_word(w, rows[i].detail);
            before = ", ";
        }
    }
}

static void value_key(writer *w, const topic *t)
{
    put_key(w, t->c, t->candidate->key);
}

static void value_key0(writer *w, const topic *t)
{
    put_key(w, t->c, t->f->keys[0]);
}

static void value_key1(writer *w, const topic *t)
{
    put_key(w, t->c, t->f->keys[1]);
}

static void value_member(writer *w, const topic *t)
{
    put_word(w, members[t->candidate->backend]);
}

static void value_name(writer *w, const topic *t)
{
    put_word(w, t->c->moe_backend);
}

static void value_names(writer *w, const topic *t)
{
    put_names(w, t->c);
}

static void value_parallel(writer *w, const topic *t)
{
    put_parallel(w, &t->c->parallel);
}

static void value_reason(writer *w, const topic *t)
{
    put_template(w, t, reasons[t->candidate->reason]);
    if (t->candidate->hint) {
        put_word(w, reasons[MXO_SEL_BECAUSE_AITER_HINT]);
    }
}

/* "backend: NAME, reason: ..." of every class of a list, joined by "; ". */
static void value_refused(writer *w, const topic *t)
{
    for (uint32_t i = 0; i < t->f->n_refused; i++) {
        const topic one = {t->c, t->f, &t->f->refused[i]};
        put_word(w, i == 0 ? "backend: " : "; backend: ");
        value_backend(w, &one);
        put_word(w, ", reason: ");
        value_reason(w, &one);
    }
}

static void value_routing(writer *w, const topic *t)
{
    put_number(w, mxo_select_routing_value(t->c, t->c->routing));
}

static void value_size(writer *w, const topic *t)
{
    put_number(w, t->f->size);
}

/* Python prints at most 200 characters of it. */
static void value_value(writer *w, const topic *t)
{
    enum { LONGEST = 200 };
    char whole[4 * LONGEST + 8];
    writer repr = {{whole, sizeof whole}, 0};
    size_t n = 0;

    put_repr(&repr, t->c->env[t->f->env]);
    (void)finish(&repr);
    for (int shown = 0; whole[n] != '\0' && shown <= LONGEST; n++) {
        const int is_inside = ((unsigned char)whole[n + 1] & 0xc0) == 0x80;
        shown += !is_inside;
        if (shown == LONGEST) {
            n++;
            break;
        }
    }
    put(w, whole, n);
}

static void value_variants(writer *w, const topic *t)
{
    put_variants(w, t->f);
}

static void value_weight(writer *w, const topic *t)
{
    put_key(w, t->c, MXO_SEL_KEY_kMxfp4Static);
}

static const struct {
    const char *word;
    put_value *put;
} values[] = {
    {"{activation}", value_activation},
    {"{backend}", value_backend},
    {"{device}", value_device},
    {"{enum}", value_enum},
    {"{experts}", value_experts},
    {"{format}", value_format},
    {"{key}", value_key},
    {"{key0}", value_key0},
    {"{key1}", value_key1},
    {"{kind}", value_kind},
    {"{member}", value_member},
    {"{moe_ep}", value_moe_ep},
    {"{name}", value_name},
    {"{names}", value_names},
    {"{own_kind}", value_own_kind},
    {"{parallel}", value_parallel},
    {"{reason}", value_reason},
    {"{refused}", value_refused},
    {"{routing}", value_routing},
    {"{size}", value_size},
    {"{value}", value_value},
    {"{variants}", value_variants},
    {"{weight}", value_weight},
};

/* Every word in braces is one of the table; a unit test writes them all. */
static void put_template(writer *w, const topic *t, const char *text)
{
    while (*text != '\0') {
        const size_t n = strcspn(text, "{");
        size_t i = 0;
        put(w, text, n);
        text += n;
        if (*text == '\0') {
            break;
        }
        const size_t length = strcspn(text, "}") + 1;
        while (strncmp(values[i].word, text, length) != 0) {
            i++;
        }
        values[i].put(w, t);
        text += length;
    }
}

size_t mxo_select_failure_text(const mxo_select_config *c,
                               const mxo_sel_failure *failure, mxo_text text)
{
    const topic t = {c, failure, &failure->last};
    writer w = {text, 0};

    put_template(&w, &t, errors[failure->error].text);
    return finish(&w);
}

size_t mxo_select_reason_text(const mxo_select_config *c,
                              const mxo_sel_candidate *candidate, mxo_text text)
{
    const topic t = {c, NULL, candidate};
    writer w = {text, 0};

    value_reason(&w, &t);
    return finish(&w);
}

size_t mxo_select_key_text(const mxo_select_config *c, mxo_sel_key key,
                           mxo_text text)
{
    writer w = {text, 0};

    put_key(&w, c, key);
    return finish(&w);
}

const char *mxo_select_error_type(mxo_sel_error error)
{
    return errors[error].type;
}
