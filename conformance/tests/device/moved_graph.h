/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of the example plugin that are wrong where something has changed since
   their capture or their last launch: the stream is none any more, or a buffer
   came or went, or inputs begin as they did. */
#ifndef MXO_MOVED_GRAPH_H
#define MXO_MOVED_GRAPH_H

typedef struct moved_graph {
    job *job;   /* owned by the example */
    int was_on; /* a stream, at its last launch; 0 before that */
    int was_on_none;
    int n_allocs;
    int n_deallocs;
} moved_graph;

static int n_allocs;
static int n_deallocs;

static int has_graphs(const char *fault)
{
    return strncmp(fault, "graph-", 6) == 0 ||
           strncmp(fault, "ok-graph", 8) == 0;
}

static mxo_status moved_capture(void *ctx, const mxo_call *call, void **graph,
                                mxo_text why)
{
    moved_graph *g = malloc(sizeof *g);
    void *made = NULL;

    if (g == NULL) {
        return refuse(MXO_E_NOMEM, why, "no memory for a graph");
    }
    const mxo_status status = example_capture(ctx, call, &made, why);

    *g = (moved_graph){made, 0, 0, n_allocs, n_deallocs};
    *graph = g;
    if (status != MXO_OK) {
        free(g);
        *graph = NULL;
    }
    return status;
}

static mxo_status moved_launch(void *ctx, void *graph, void *stream,
                               mxo_text why)
{
    const char *const given = getenv("FAULT");
    const char *const fault = given == NULL ? "" : given;
    moved_graph *g = graph;
    const mxo_status status = example_launch(ctx, g->job, stream, why);
    const int is_spoilt =
        (strcmp(fault, "graph-to-none") == 0 && g->was_on && stream == NULL) ||
        (strcmp(fault, "graph-from-none") == 0 && g->was_on_none &&
         stream != NULL) ||
        (strcmp(fault, "graph-alloc") == 0 && g->n_allocs != n_allocs) ||
        (strcmp(fault, "graph-dealloc") == 0 && g->n_deallocs != n_deallocs);

    if (strcmp(fault, "graph-keeps-head") == 0 ||
        strcmp(fault, "graph-keeps-scales") == 0) {
        keep_answer(fault + strlen("graph-"), bytes_of(&g->job->q),
                    bytes_of(&g->job->scale), bytes_of(&g->job->y));
    }
    ((uint8_t *)g->job->y.buffer)[g->job->y.offset] ^= (uint8_t)is_spoilt;
    g->was_on = stream != NULL;
    g->was_on_none = stream == NULL;
    return status;
}

static void moved_close(void *ctx, void *graph)
{
    moved_graph *g = graph;

    example_graph_close(ctx, g->job);
    free(g);
}

#endif
