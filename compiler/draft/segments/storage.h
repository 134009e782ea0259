/* storage.h -- the address of each value of one region: its base register and offset.
 *
 * In:   a region with forward, recompute and backward lists.
 * Out:  an address per value. Values that forward (or recompute) makes and a later list reads share
 * the frame; all others are scratch of their list, packed by lifetime over its nodes; the value
 * that an exchange sends lives until a node reads the value that it receives. Views lie inside
 * their root; an op that works in place takes over the storage of an input that nothing reads
 * again. */
#ifndef LOCKSTEP_STORAGE_H
#define LOCKSTEP_STORAGE_H

#include "compiler/draft/draft.h"

typedef enum ListKind {
  LIST_CODES, /* makes codes of weights, which all other lists read */
  LIST_FORWARD,
  LIST_RECOMPUTE,
  LIST_BACKWARD,
  LIST_WEIGHT,
  LIST_KINDS
} ListKind;

typedef struct Address {
  BaseRole role;
  int32_t number; /* of parameters: their block */
  int64_t offset_bytes;
} Address;

typedef struct ValueUse {
  bool made, read;
  ListKind list;       /* the list whose node makes the value */
  int32_t first, last; /* nodes of that list */
  bool escapes;        /* read in another list */
  bool in_chunk;       /* made and read by nodes that run in chunks alone: one chunk's worth */
} ValueUse;

typedef struct Storage {
  const Draft *draft;
  const Graph *graph;
  const Region *region;
  ValueId *owner;                        /* by value: the value whose bytes it shares, or itself */
  ValueUse *use;                         /* by owner */
  int64_t *offset;                       /* by owner: in its frame or scratch */
  int64_t *workspace_offset[LIST_KINDS]; /* by position in the list */
  int64_t scratch_bytes[LIST_KINDS], codes_bytes, frame_bytes, recompute_frame_bytes,
      weight_frame_bytes;
  bool backward_reads_input, backward_reads_output;
} Storage;

const NodeList *region_list(const Region *region, ListKind list);

/* How many chunks node `at` of the list runs in; 1: it is run once. */
int64_t list_chunks(const Graph *g, const Region *region, ListKind list, int32_t at);

/* `lowered[list][i]`: node i of the list as a kernel call, for workspaces. */
Storage *storage_assign(Draft *d, const Graph *g, const Region *region,
                        Lowered *const lowered[LIST_KINDS]);

Address storage_address(const Storage *places, ValueId v);
int64_t storage_span_bytes(const Storage *places,
                           ValueId v); /* from the first to the last byte it touches */
/* True if it has one chunk's worth of bytes, used again by the next. */
bool storage_in_chunk(const Storage *places, ValueId v);

#endif
