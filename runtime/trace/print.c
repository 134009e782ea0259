/* print.c -- trace events:
 * https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU */
#include <inttypes.h>
#include <string.h>

#include "runtime/plan/plan_place.h"
#include "runtime/plan/plan_text.h"
#include "runtime/trace/trace.h"

typedef struct TracePrinter {
  const Plan *plan;
  const Trace *traces;
  int32_t count;
  int64_t base_ns; /* of the wall clock */
  TracePredict *predict;
  FILE *out;
  bool is_begun;
} TracePrinter;

static void begin(TracePrinter *p, const char *phase, uint32_t rank, uint32_t lane) {
  fprintf(p->out, "%s\n{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u", p->is_begun ? "," : "", phase, rank,
          lane);
  p->is_begun = true;
}

static void print_string(const char *text, FILE *out) {
  fputc('"', out);
  for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
    if (*at == '"' || *at == '\\') fputc('\\', out);
    if (*at >= 0x20 && *at < 0x7f)
      fputc(*at, out);
    else
      fprintf(out, "\\u%04x", *at);
  }
  fputc('"', out);
}

static void print_time(TracePrinter *p, const Trace *trace, const char *name, int64_t ns) {
  int64_t since_ns = ns + trace->header.wall_ns - p->base_ns;
  fprintf(p->out, ",\"%s\":%" PRId64 ".%03" PRId64, name, since_ns / 1000, since_ns % 1000);
}

/* ---- names of ranks and lanes */

static void name_rank(TracePrinter *p, const Trace *trace) {
  uint32_t rank = trace->header.rank;
  char name[256];
  int used = snprintf(name, sizeof name, "rank %u", rank);
  for (uint32_t axis = 0; axis < p->plan->axes_count; axis++)
    if (p->plan->axes[axis].size > 1 && used < 160)
      used += snprintf(name + used, sizeof name - (size_t)used, " %.16s %u",
                       plan_string(p->plan, p->plan->axes[axis].name),
                       plan_coordinate(p->plan, rank, axis));
  (void)snprintf(name + used, sizeof name - (size_t)used, " on %.60s", trace->header.node);
  begin(p, "M", rank, 0);
  fputs(",\"name\":\"process_name\",\"args\":{\"name\":", p->out);
  print_string(name, p->out);
  fputs("}}", p->out);
  begin(p, "M", rank, 0);
  fprintf(p->out, ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%u}}", rank);
  for (uint32_t lane = 0; lane < p->plan->lanes_count; lane++) {
    begin(p, "M", rank, lane);
    fputs(",\"name\":\"thread_name\",\"args\":{\"name\":", p->out);
    print_string(plan_lane_name(p->plan, lane), p->out);
    fputs("}}", p->out);
  }
}

/* ---- records */

static const char *kind_of(const Plan *plan, const PlanRecord *record) {
  return record->kernel == PLAN_NONE ? RecordKind_names[record->kind]
                                     : plan_string(plan, plan->kernels[record->kernel].name);
}

static void print_name(const Plan *plan, const PlanRecord *record, FILE *out) {
  const char *kind = kind_of(plan, record), *path = plan_string(plan, record->path);
  char name[256];
  bool has_kind = strncmp(path, kind, strlen(kind)) == 0;
  (void)snprintf(name, sizeof name, "%.60s%s%.160s", has_kind ? "" : kind,
                 has_kind || !*path ? "" : " ", path);
  print_string(name, out);
}

/* The segment that a record is of. */
static const char *segment_of(const Plan *plan, uint32_t record) {
  for (uint32_t i = 0; i < plan->segments_count; i++)
    if (record - plan->segments[i].records_first < plan->segments[i].records_count)
      return plan_string(plan, plan->segments[i].name);
  return "";
}

/* FLOPs and bytes of an entry, by the plan. */
typedef struct Extent {
  int64_t flops, bytes;
} Extent;

static void add_extent(Extent *of, const PlanRecord *record) {
  of->flops += record->flops;
  of->bytes += record->bytes;
}

/* False: the entry is not of this launch. */
static bool add_launch(const Plan *plan, const PlanProgram *program, const PlanLaunch *launch,
                       const TraceEntry *entry, Extent *of) {
  bool has_it = false;
  *of = (Extent){0};
  for (uint32_t c = 0; c < launch->call_count; c++) {
    const PlanCall *call = &plan->calls[program->calls_first + launch->first_call + c];
    const PlanSegment *segment = &plan->segments[call->segment];
    for (uint32_t i = 0; i < segment->records_count; i++) {
      const uint32_t number = segment->records_first + i;
      if (!plan_runs(call, &plan->records[number])) continue;
      has_it |= number == entry->record && call->layer == entry->layer;
      add_extent(of, &plan->records[number]);
    }
  }
  return has_it;
}

/* A launch has the bytes of all its records; its entry is of the first. */
static Extent extent_of(const Plan *plan, const TraceEntry *entry) {
  Extent of = {0};
  for (uint32_t p = 0; p < plan->programs_count && entry->records > 1; p++) {
    const PlanProgram *program = &plan->programs[p];
    for (uint32_t l = 0; l < program->launches_count; l++)
      if (add_launch(plan, program, &plan->launches[program->launches_first + l], entry, &of))
        return of;
  }
  of = (Extent){0};
  add_extent(&of, &plan->records[entry->record]);
  return of;
}

static void print_extent(const TracePrinter *p, const Trace *trace, const TraceEntry *entry) {
  const PlanRecord *record = &p->plan->records[entry->record];
  int64_t predicted_ns = entry->predicted_ns;
  if (record->comm != PLAN_NONE && !entry->is_call)
    predicted_ns = p->predict(p->plan, trace->header.rank, record);
  if (entry->records > 1) fprintf(p->out, ",\"launch\":%u", entry->records);
  if (entry->is_call) {
    fputs(",\"call_of\":", p->out);
    print_string(segment_of(p->plan, entry->record), p->out);
  }
  if (predicted_ns > 0) fprintf(p->out, ",\"predicted_us\":%.3f", (double)predicted_ns / 1e3);
  if (record->kernel == PLAN_NONE || entry->is_call) return;
  const Extent extent = extent_of(p->plan, entry);
  fputs(",\"kernel\":", p->out);
  print_string(plan_string(p->plan, p->plan->kernels[record->kernel].name), p->out);
  fprintf(p->out, ",\"flops\":%" PRId64 ",\"bytes\":%" PRId64, extent.flops, extent.bytes);
}

static void print_record(TracePrinter *p, const Trace *trace, const TraceEntry *entry) {
  const PlanRecord *record = &p->plan->records[entry->record];
  begin(p, "X", trace->header.rank, entry->lane);
  fputs(",\"name\":", p->out);
  print_name(p->plan, record, p->out);
  fprintf(p->out, ",\"cat\":\"%s\"", RecordKind_names[record->kind]);
  print_time(p, trace, "ts", entry->start_ns);
  int64_t took_ns = entry->end_ns - entry->start_ns;
  fprintf(p->out, ",\"dur\":%" PRId64 ".%03" PRId64, took_ns / 1000, took_ns % 1000);
  fprintf(p->out, ",\"args\":{\"step\":%" PRId64 ",\"record\":%u", entry->step, entry->record);
  if (entry->layer >= 0) fprintf(p->out, ",\"layer\":%d", entry->layer);
  if (entry->microbatch >= 0) fprintf(p->out, ",\"microbatch\":%d", entry->microbatch);
  if (record->fuses) fputs(",\"fused\":true", p->out);
  if (record->comm != PLAN_NONE) {
    fputs(",\"over\":", p->out);
    print_string(plan_string(p->plan, p->plan->comms[record->comm].name), p->out);
  }
  print_extent(p, trace, entry);
  fputs("}}", p->out);
}

/* ---- arrows: the k-th send between two ranks matches the k-th receive */

/* The member `distance` ahead along the communicator's only axis. */
static uint32_t peer_of(const Plan *plan, uint32_t rank, uint32_t comm, int64_t distance) {
  uint32_t mask = plan->comms[comm].axes_mask, axis = 0;
  while (axis + 1 < plan->axes_count && (mask >> axis & 1u) == 0)
    axis++;
  int64_t size = plan->axes[axis].size, at = plan_coordinate(plan, rank, axis);
  int64_t to = ((at + distance) % size + size) % size;
  return plan_rank_along(plan, rank, axis, (uint32_t)to);
}

static const Trace *trace_of(const TracePrinter *p, uint32_t rank) {
  for (int32_t i = 0; i < p->count; i++)
    if (p->traces[i].header.rank == rank) return &p->traces[i];
  return NULL;
}

/* A send or receive of one exchange, as a place in a trace. */
typedef struct Post {
  const TraceEntry *entry;
  int64_t index; /* of the entry */
  uint32_t operand;
} Post;

/* The next operand, from `at` on, that `trace` sends to (or receives from) `peer` over `comm`. */
static bool next_post(const Plan *plan, const Trace *trace, uint32_t peer, uint32_t comm,
                      bool is_sent, Post *at) {
  for (; at->index < trace->count; at->index++, at->operand = 0) {
    const TraceEntry *entry = &trace->entry[at->index];
    const PlanRecord *record = &plan->records[entry->record];
    if (record->kind != RECORD_EXCHANGE || record->comm != comm) continue;
    for (; at->operand < record->operands_count; at->operand++) {
      const PlanOperand *operand = &plan->operands[record->operands_first + at->operand];
      int64_t distance = plan->ints[record->dims_first + at->operand];
      if ((operand->access == ACCESS_READ) != is_sent ||
          peer_of(plan, trace->header.rank, comm, distance) != peer)
        continue;
      at->entry = entry;
      at->operand++;
      return true;
    }
  }
  return false;
}

static void print_end(TracePrinter *p, const Trace *trace, const TraceEntry *entry,
                      const char *phase, uint64_t id) {
  begin(p, phase, trace->header.rank, entry->lane);
  fprintf(p->out, ",\"cat\":\"message\",\"name\":\"message\",\"id\":%" PRIu64, id);
  if (*phase == 'f') fputs(",\"bp\":\"e\"", p->out);
  print_time(p, trace, "ts", *phase == 'f' ? entry->end_ns : entry->start_ns);
  fputc('}', p->out);
}

static void print_pair(TracePrinter *p, const Trace *from, const Trace *to, uint32_t comm,
                       uint64_t *id) {
  Post sent = {0}, got = {0};
  while (next_post(p->plan, from, to->header.rank, comm, true, &sent) &&
         next_post(p->plan, to, from->header.rank, comm, false, &got)) {
    print_end(p, from, sent.entry, "s", *id);
    print_end(p, to, got.entry, "f", (*id)++);
  }
}

static bool exchanges(const Plan *plan, uint32_t comm) {
  for (uint32_t i = 0; i < plan->records_count; i++)
    if (plan->records[i].kind == RECORD_EXCHANGE && plan->records[i].comm == comm) return true;
  return false;
}

static void print_arrows(TracePrinter *p, uint32_t comm, uint64_t *id) {
  uint32_t mask = p->plan->comms[comm].axes_mask, axis = 0;
  while (axis + 1 < p->plan->axes_count && (mask >> axis & 1u) == 0)
    axis++;
  for (int32_t i = 0; i < p->count; i++)
    for (uint32_t distance = 1; distance < p->plan->axes[axis].size; distance++) {
      uint32_t peer = peer_of(p->plan, p->traces[i].header.rank, comm, distance);
      const Trace *to = trace_of(p, peer);
      if (to != NULL) print_pair(p, &p->traces[i], to, comm, id);
    }
}

static int64_t earliest_ns(const Trace *traces, int32_t count) {
  int64_t earliest = INT64_MAX;
  for (int32_t i = 0; i < count; i++)
    for (int64_t j = 0; j < traces[i].count; j++) {
      int64_t ns = traces[i].entry[j].start_ns + traces[i].header.wall_ns;
      if (ns < earliest) earliest = ns;
    }
  return earliest;
}

int64_t trace_print(const Plan *plan, const Trace *traces, int32_t count, TracePredict *predict,
                    FILE *out) {
  TracePrinter p = {plan, traces, count, earliest_ns(traces, count), predict, out, false};
  int64_t printed = 0;
  uint64_t id = 1;
  fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[", out);
  for (int32_t i = 0; i < count; i++) {
    name_rank(&p, &traces[i]);
    for (int64_t j = 0; j < traces[i].count; j++, printed++)
      print_record(&p, &traces[i], &traces[i].entry[j]);
  }
  for (uint32_t comm = 0; comm < plan->comms_count; comm++)
    if (exchanges(plan, comm)) print_arrows(&p, comm, &id);
  fputs("\n]}\n", out);
  return printed;
}
