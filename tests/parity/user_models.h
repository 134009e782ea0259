/* user_models.h -- random model files, by seed: blocks, gates, norms,
 * attention with and without rotary positions, few key heads, shared weights, tied ends, products
 * of values with themselves, dropout, two stacks, tables and tokens. */
#ifndef LOCKSTEP_TESTS_USER_MODELS_H
#define LOCKSTEP_TESTS_USER_MODELS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Writes a model file. True: of tokens, whose values have a seq dimension. */
bool user_model_write(FILE *out, uint64_t seed);

/* Writes lines of a job: how 1 to 4 ranks of the cluster divide the work, or that memory is saved.
 */
void user_way_write(FILE *out, uint64_t seed, const char *cluster, bool has_seq);

#endif
