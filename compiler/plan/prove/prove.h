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
 *   carry out the op (rules.def), and its dims, attrs, random key, control slots and differences
 *   between ranks follow from the node, the job's settings and the cuts of its operands. What has
 *   no row is refused. A program has only records that it may have (purposes.def). Parameters begin
 *   as the model says, updates and clip are the job's. Files and columns are those of the
 *   settings that a checkpoint is compared by; every number of the job is in one row, which all
 *   read (plan_check). Inputs are staged as the model reads them. So is the model: nodes, dims,
 * initial values and decay are those of the setting model.graph, masters are where precision.master
 * wants them, and no two parameters and no two nodes draw the same random numbers.
 * - shapes: operands are as large as their kernel's dims make them, scratch as the compiler gives
 *   it, read and written as the kernel does. (What collectives and exchanges move: plan_check.)
 * - communication, timeline: every program ends when each rank runs its communications one at a
 *   time, in list order, and each blocks until its partners have come. Collectives that meet are
 *   equal in kind, lane, bytes, dtype, meaning, layer and micro-batch; what an exchange sends and
 *   what meets it in lane, bytes, dtype and what the calls say that it is; within a class every
 *   distance has its opposite. Loops that concern several classes are run to their end.
 * - memory: buffers share bytes only when their lifetimes do not meet; every base of a call lies in
 *   one buffer that is live then;
 *   recorded peaks are the real ones, and fit. Rings, control and samples, which the runtime
 *   writes, lie in their own buffers.
 * - ordering: records on different lanes touch the same bytes, one writing, or the same
 *   communicator, only if edges order them; records of one launch, not at all.
 * - snapshot: its program copies every tensor that a checkpoint has, once, into a buffer that no
 *   other program touches, and a record that writes copied bytes comes after the copy.
 * - saves: by the tables from which it follows who saves what (state/rows.h) each element of the
 *   state is in a checkpoint once: pieces are all of a tensor, no two tensors have one key, and
 *   a tied one is left out only where an earlier stage has all of its kinds.
 * - types: memory holds the model's values where the model needs them (types/types.c). Every span
 *   of a buffer has a type: which value, layer and micro-batch, in which parts along the axes of
 *   the mesh, summed over which uses; every record is a rule over types, and what has no rule is
 *   refused. Dims of one letter are one dim. Gradients are complete and alike cut before their
 *   update, rounded only to be sent, and the same on two stages that hold one weight. The norm has
 *   the squares of the elements that a rank updates, once; losses count once in every program, and
 *   at the end of a step all that lasts is new and in its place, under its name. A node is computed
 *   by its own program's calls, a layer's by calls of a layer, and parameters begin in init alone.
 *   Keys that go round a ring of ranks are told apart by whose they are. Kernels that
 *   gather and scatter pieces are beside a collective that moves just these, and are judged
 * together with it. Every byte that is read was therefore written, by init or in its step, and is
 * the right one: a span without a type, as scratch is, may not be read. A plan that states no model
 * cannot be judged, and is refused. Judged last, when nothing else was found.
 *
 * All of it holds of every rank of a class at once: where an operand goes by the rank, memory and
 * ordering take it for the whole row of its members. They look at two iterations of a loop; types
 * go by induction. Names and sums are hashes of 64 bits. tests/mutants looks for what slips
 * through. */
#ifndef LOCKSTEP_PROVE_H
#define LOCKSTEP_PROVE_H

#include "runtime/plan/plan.h"

enum { PROVE_FINDINGS_MAX = 32, PROVE_LINE_BYTES = 480 };

typedef struct ProveReport {
  uint32_t finding_count; /* all of them; only the first PROVE_FINDINGS_MAX are kept */
  char finding[PROVE_FINDINGS_MAX][PROVE_LINE_BYTES];
  uint64_t ranks, classes, communicators; /* communicators: sub-mesh patterns that are used */
  uint64_t calls, records, accesses, communications; /* of all classes and programs */
} ProveReport;

/* Fills the whole report. */
bool prove(const Plan *plan, ProveReport *report);

#endif
