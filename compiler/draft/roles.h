/* roles.h -- in which form a block's parameters, gradients and states are: dtype, whole or shard,
 * bytes. Derived from a draft: sizes.c. */
#ifndef LOCKSTEP_DRAFT_ROLES_H
#define LOCKSTEP_DRAFT_ROLES_H

#include "compiler/draft/draft.h"

/* How the elements of a block are stored in this role: dtype, elements a layer with gaps. */
DType role_dtype(const Draft *d, const Block *block, BaseRole role);
/* Bytes of this many consecutive elements of the block's parameters in this role, the first of
 * which begins a block of codes. */
int64_t role_bytes(const Draft *d, const Block *block, BaseRole role, int64_t elements);
/* True if kernels read parameters in another dtype than the one that persists. */
bool params_are_cast(const Draft *d);
/* True if kernels read a copy of the block's parameters, which lives for some layers only. */
bool block_is_fetched(const Draft *d, const Block *block);
/* The base in which the block's parameters persist. */
BaseRole stored_role(const Draft *d, const Block *block);
/* True if the block's ranks keep something in this role from step to step. */
bool role_persists(const Draft *d, const Block *block, BaseRole role);
/* True if the parameters of layers whose states are in host memory are there, too: not of blocks of
 * which each rank updates a piece, and all have the whole. */
bool block_is_far(const Draft *d, const Block *block);
/* True if gradients of such layers accumulate in host memory: not of a parameter that several
 * regions read. */
bool block_grads_pass(const Draft *d, const Block *block);
/* The base in which a micro-batch leaves the gradients that the block's ranks update by. */
BaseRole grad_role(const Block *block);
/* Buffers of a tier begin at multiples of this; of a file, layers do, too. */
int64_t tier_align(Tier tier);
/* Bytes from one layer to the next of what persists in a tier. */
int64_t tier_stride_bytes(const Draft *d, const Block *block, BaseRole role, Tier tier);
bool role_is_shard(const Block *block, BaseRole role);
/* True if a checkpoint has it: a weight under a master is the master rounded, but the upper half of
 * a split one is not. */
bool role_is_saved(const Draft *d, const Block *block, BaseRole role);
/* The bytes that one layer takes in these roles. */
int64_t block_saved_bytes(const Draft *d, const Block *block);
/* True if the stage saves the block: the first that has it. */
bool stage_saves(const Draft *d, const Stage *stage, int32_t b);
int64_t block_bytes(const Draft *d, const Block *block, BaseRole role);
int64_t block_stride_bytes(const Draft *d, const Block *block, BaseRole role);

/* The cache of a sampled model: where a value begins in its layer's, the bytes of a layer of a
 * region; and how many slots after `count` have what is drawn. */
int64_t cache_offset(const Graph *g, ValueId v);
int64_t cache_stride_bytes(const Graph *g, RegionId region);
int64_t draft_drawn_slots(const Draft *d);

/* The slot that the record has where its kernel's row has `slot`: of several losses each has its
 * own divisor. */
ControlSlot draft_slot_of(const Draft *d, const Record *record, ControlSlot slot);

#endif
