/* prove.h -- what must hold of a plan before a job may start with it, shown from the plan alone.
 *
 * In:  any plan that plan_check accepts; what can be worked out again is not taken on trust.
 * Out: true when every property below holds; otherwise one line per violation.
 *
 * - derivatives: the backward nodes of the model make the gradients of its forward nodes, by the
 *   rows of derivatives/derivatives.def: of every parameter the sum over all its uses, from the
 *   one loss on, through what goes from region to region. What has no row is refused. Evaluation is
 *   what is trained, without dropout.
 * - records: every record is what its node, or its purpose, makes it: its kernel is one that may
 *   carry out the op (records/rows.def), and its dims, attrs, dtypes, random key and differences
 *   between ranks follow from the node, the job's settings and the cuts of its operands. Parameters
 *   begin as the model says, updates and clip are the job's. What has no row is refused. A plan
 *   without a model has nothing to be compared with; plan_check: it has no parameters.
 * - shapes: operands are as large as their kernel's dims make them, scratch as the compiler gives
 *   it, read and written as the kernel does; a slice lies in its whole on every rank. (What
 *   collectives and exchanges move: plan_check.)
 * - packing: what packs and unpacks stands beside a collective that moves just that, in memory
 *   of its own. Where values are followed, the three are one collective (packed.h).
 * - communication: ranks that share communicators issue the same collectives in one order,
 *   equal in kind, lane, bytes, dtype, meaning, layer and micro-batch. What an exchange
 *   sends and what meets it are equal in lane, bytes and dtype, and what is made in one
 *   micro-batch is read in the same; within a class every distance has its opposite.
 * - timeline: every program ends when each rank runs its communications one at a time, in
 *   list order, and each blocks until its partners have come. Loops that concern several
 *   classes are run to their end.
 * - memory: buffers share bytes only when their lifetimes do not meet; what a call reaches
 *   through a base lies in one buffer that is live then, the same on every rank of a class;
 *   recorded peaks are the real ones, and fit.
 * - ordering: records on different lanes touch the same bytes, one writing, or the same
 *   communicator, only if edges order them.
 * - dataflow: every byte read was written before, in this life of its buffer, or by init, or
 *   by the step before. Scratch, and what a scatter in place leaves of other ranks' pieces,
 *   is nothing to read.
 * - values: what a record leaves in a transient buffer is read before it is overwritten or
 *   the buffer's life ends, and never after a part of it was overwritten; what follows from
 *   samples is read in its micro-batch; no call does the same twice.
 * - step: a stage loads every micro-batch once, in order, or none; losses count once, on one
 *   stage. Every gradient is assigned by the first micro-batch, added to by the others, each
 *   as often as the ones before, in its tensor or by way of a block of one layer, the wire
 *   and a shard; reduced over every axis that divides samples or tokens, over none twice;
 *   joined with what other stages make of a tied tensor; in the norm once; used by one
 *   update of its own parameter, piece by piece where it is divided. Norm and control values
 *   come before any update, and each square is added up over exactly the axes along which it
 *   differs. Parameters have an initial value of their own, nothing but updates changes
 *   them, and pieces that ranks initialise or update are gathered before the program ends.
 * - replicas: the gradient of an update differs along exactly the axes along which its
 *   parameter does, so that ranks which hold the same elements keep holding the same;
 *   nothing is added up over ranks that have it in common. Followed from samples, attributes
 *   and places: a reduction that is missing over tp, cp or dp shows, whatever records say of
 *   layouts. Judged when nothing else was found.
 *
 * - adjoint: what goes backward has gone forward, in its layer and micro-batch, and reads the
 *   values, sizes, attributes and random numbers that it had; the gradient that it reads is a sum
 *   with one part from each use of what it made, through copies, parts, communications and other
 *   stages, and it makes the gradients of the tensors that it read, in their rows. Losses read
 *   targets, embeddings tokens or positions; every parameter that is read has one gradient from
 *   there; what a record writes is nothing else that it reads. Judged last, and alone.
 *
 * - types: memory holds the model's values where the model needs them (types/types.h). Every span
 *   of a buffer has a type: which value, layer and micro-batch, in which parts along the axes of
 *   the mesh, summed over which uses; every record is a rule over types, and what has no rule is
 *   refused. Gradients are complete and alike cut before their update, each square is once in the
 *   norm, losses count once, and at the end of a step all that lasts is new and in its place.
 *   Keys that go round a ring of ranks are told apart by whose they are.
 *
 * Not shown of a plan without a model: what only the compiler knows of the model. That a
 * value read forward is the right one among those of equal place, size and micro-batch, where
 * forward and backward agree; that attributes (positions, scales, which part of a table) are the
 * right numbers. Uses by kernels that adjoint.c has no rule for, values that several pieces make
 * up, and sums of gradients from two other stages are not judged. What goes from stage to stage is
 * told apart by what it is in each, and by its micro-batch, not by value. Nor is it shown, for
 * members that are neither the first, the second nor the last of a communicator, what begins or
 * ends between two of their pieces (members.c). Names and sums are hashes of 64 bits. tests/mutants
 * looks for what slips through.
 *
 * Records are looked at per call, loops for two iterations, ranks by class and there by their
 * first, second and last members: never rank by rank. What repeats, as micro-batches and layers do,
 * is looked at once (repeats.c). */
#ifndef LOCKSTEP_PROVE_H
#define LOCKSTEP_PROVE_H

#include "runtime/plan/plan.h"

enum { PROVE_FINDINGS_MAX = 32, PROVE_LINE_BYTES = 320 };

typedef struct ProveReport {
  uint32_t finding_count; /* all of them; only the first PROVE_FINDINGS_MAX are kept */
  char finding[PROVE_FINDINGS_MAX][PROVE_LINE_BYTES];
  uint64_t ranks, classes, communicators; /* communicators: sub-mesh patterns that are used */
  uint64_t calls, records, accesses, communications; /* of all classes and programs */
} ProveReport;

/* Fills the whole report. */
bool prove(const Plan *plan, ProveReport *report);

#endif
