/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moe.layer_routed: the router, then the layer on its answer.  Each sees a call
 * of its own, with the ids and weights between them.  The layer's plan looks at
 * the ids, so the router has run once before it is made; a launch of the whole
 * has both.
 */
#include "host/call.h"
#include "host/plans.h"
#include "port/runtime.h"

enum { ROUTED_MOST = 64 };

/* Parameters of the router: another name of this operation's, or a constant.
   All others, and expert_map's, are the layer's too. */
static const struct {
    const char *key;
    const char *from; /* NULL: text */
    const char *text;
} routed_params[] = {
    {"dialect", "dialect", NULL},
    {"from", "logits", NULL},
    {"to", NULL, "f32"},
    {"top_k", "top_k", NULL},
    {"renormalize", "renormalize", NULL},
    {"routed_scaling_factor", "routed_scaling_factor", NULL},
    {"n_group", "n_group", NULL},
    {"topk_group", "topk_group", NULL},
    {"n_shared", NULL, "0"},
    {"bias", "correction", NULL},
    {"table", NULL, "0"},
    {"also", NULL, "none"},
};
enum { ROUTED_PARAMS = sizeof routed_params / sizeof routed_params[0] };

typedef struct routed_job {
    mxo_tensor between[2]; /* ids and weights */
    mxo_param param[ROUTED_MOST];
    mxo_tensor in[ROUTED_MOST];
    mxo_call call;
} routed_job;

static mxo_status routed_check(const mxo_call *call, mxo_text why)
{
    const mxo_tensor *const x = find_tensor(call->in, call->n_in, "logits");
    const mxo_tensor *const map =
        find_tensor(call->in, call->n_in, "expert_map");
    const mxo_tensor *const w = find_tensor(call->in, call->n_in, "w13");
    const double k = call_number(call, "top_k");

    if (call->n_params > ROUTED_MOST || call->n_in + 2 > ROUTED_MOST ||
        x == NULL || x->rank != 2 || w == NULL || w->rank == 0) {
        return gpu_fail(MXO_E_SHAPE, why,
                        "moe.layer_routed on %s: logits are a matrix, weights "
                        "have experts",
                        GPU_NAME);
    }
    if (!(k >= 1 && k <= (double)x->shape[1]) ||
        x->shape[0] > INT32_MAX / (uint64_t)k) {
        return gpu_fail(MXO_E_PARAM, why,
                        "moe.layer_routed on %s: top_k does not fit", GPU_NAME);
    }
    return x->shape[1] ==
                   (map != NULL && map->rank == 1 ? map->shape[0] : w->shape[0])
               ? MXO_OK
               : gpu_fail(MXO_E_SHAPE, why,
                          "moe.layer_routed on %s: logits have no column for "
                          "each expert",
                          GPU_NAME);
}

/* Ids and weights, in memory that no plan of a layer takes. */
static mxo_status routed_between(routed_job *r, const mxo_call *call,
                                 gpu_room *memory, mxo_text why)
{
    static const char *const names[] = {"topk_ids", "topk_weights"};
    const mxo_tensor *const x = find_tensor(call->in, call->n_in, "logits");
    const uint64_t slots = (uint64_t)call_number(call, "top_k");
    const uint64_t bytes = 4 * x->shape[0] * slots;
    const uint64_t room = (bytes + 255) / 256 * 256;

    MXO_TRY(room_need(&memory->p, &memory->n, 2 * room, why));
    for (int i = 0; i < 2; i++) {
        mxo_tensor *const t = &r->between[i];
        t->name = names[i];
        t->dtype = i == 0 ? MXO_I32 : MXO_F32;
        t->rank = 2;
        t->shape[0] = x->shape[0];
        t->shape[1] = slots;
        t->n_bytes = bytes;
        t->buffer = (uint8_t *)memory->p + (uint64_t)i * room;
    }
    return MXO_OK;
}

static void routed_router(routed_job *r, const mxo_call *call)
{
    const mxo_tensor *const bias =
        find_tensor(call->in, call->n_in, "correction_bias");

    for (int i = 0; i < ROUTED_PARAMS; i++) {
        const char *const from = routed_params[i].from;
        r->param[i].key = routed_params[i].key;
        r->param[i].text =
            from == NULL ? routed_params[i].text : call_text(call, from);
        r->param[i].number = from == NULL ? 0 : call_number(call, from);
    }
    r->in[0] = *find_tensor(call->in, call->n_in, "logits");
    if (bias != NULL) {
        r->in[1] = *bias;
        r->in[1].name = "bias";
    }
    r->call = *call;
    r->call.op = "route.topk";
    r->call.params = r->param;
    r->call.n_params = ROUTED_PARAMS;
    r->call.in = r->in;
    r->call.n_in = bias == NULL ? 1 : 2;
    r->call.out = r->between;
    r->call.n_out = 2;
}

static int routed_is_routers(const char *key)
{
    for (int i = 0; i < ROUTED_PARAMS; i++) {
        if (routed_params[i].from != NULL &&
            strcmp(routed_params[i].from, key) == 0) {
            return 1;
        }
    }
    return 0;
}

static void routed_layer(routed_job *r, const mxo_call *call)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < call->n_params; i++) {
        if (!routed_is_routers(call->params[i].key)) {
            r->param[n++] = call->params[i];
        }
    }
    memcpy(r->in, call->in, call->n_in * sizeof *call->in);
    memcpy(r->in + call->n_in, r->between, sizeof r->between);
    r->call = *call;
    r->call.op = "moe.layer";
    r->call.params = r->param;
    r->call.n_params = n;
    r->call.in = r->in;
    r->call.n_in = call->n_in + 2;
}

/* The router's launch, now. */
static mxo_status routed_launch(const gpu_plan *plan, mxo_text why)
{
    const gpu_shape shape = {(uint32_t)plan->blocks, 0, 0, 0, NULL, 0};

    return plan->blocks == 0
               ? MXO_OK
               : gpu_launch(plan->kernel, &shape, &plan->args, why);
}

/* The router's room, which the layer's plan must not take. */
static void routed_swap(gpu_scratch *s)
{
    const gpu_room own = {s->p, s->n};

    s->p = s->routed[1].p;
    s->n = s->routed[1].n;
    s->routed[1] = own;
}

static mxo_status routed_plan(const mxo_call *call, gpu_plan *plan,
                              routed_job *r, mxo_text why)
{
    gpu_scratch *const scratch = plan->scratch;

    MXO_TRY(routed_between(r, call, &scratch->routed[0], why));
    routed_router(r, call);
    routed_swap(scratch);
    const mxo_status status = plan_route(&r->call, plan, why);
    routed_swap(scratch);
    MXO_TRY(status);
    MXO_TRY(routed_launch(plan, why));
    gpu_plan *const layer = plan_append(plan);

    if (layer == NULL) {
        return gpu_fail(MXO_E_NOMEM, why, "no memory for the launches");
    }
    routed_layer(r, call);
    MXO_TRY(plan_layer(&r->call, layer, why));
    layer->overlaps = 0; /* it waits for the router */
    plan->cold = 1;
    return MXO_OK;
}

mxo_status plan_routed(const mxo_call *call, gpu_plan *plan, mxo_text why)
{
    MXO_TRY(routed_check(call, why));
    routed_job *const r = (routed_job *)calloc(1, sizeof *r);
    const mxo_status status =
        r == NULL ? gpu_fail(MXO_E_NOMEM, why, "no memory for the calls")
                  : routed_plan(call, plan, r, why);

    free(r);
    return status;
}
