/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a worker is waited for.  The limit is one on processor time: on a
 * loaded machine, or under a sanitizer's neighbours, a right backend must not
 * be called hung.  A worker that uses no processor either (a deadlock, a
 * device that does not answer) is given up when the limit has passed by the
 * clock.
 */
#ifndef MXO_PATIENCE_H
#define MXO_PATIENCE_H

typedef struct patience {
    double limit_s;
    double until;   /* next look, by the clock */
    double started; /* processor time of the worker at the beginning */
    double met;     /* at the last look */
} patience;

/* cpu_s: what the worker has used so far. */
patience patience_begin(double limit_s, double now_s, double cpu_s);
/* Has the clock passed the next look? Then patience_ends() is to be asked. */
int patience_looks(const patience *p, double now_s);
/* Is it to be given up?  If not, the next look is set. */
int patience_ends(patience *p, double now_s, double cpu_s);

#endif
