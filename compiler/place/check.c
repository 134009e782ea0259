/* check.c -- what a user may want of a placement, and what takes a word of theirs. */
#include "compiler/place/place.h"

bool place_check_order(Compile *c, const Job *job) {
  Order order;
  Span at = job->origin[FIELD_parallel_order].span;
  if (!job->set[FIELD_parallel_order]) return true;
  if (!order_parse(job->parallel.order, &order)) {
    error_at(c, at, "order", "order names tp, cp, pp and dp once each, innermost first; got \"%s\"",
             text_plain(c->arena, job->parallel.order));
    fix_last(c, "order = \"tp cp pp dp\"");
    return false;
  }
  bool is_usual = true;
  for (int32_t i = 0; i < ORDER_WORDS; i++)
    is_usual &= order.word[i] == order_usual.word[i];
  if (is_usual || job->parallel.zero_group != ZERO_GROUP_NODE) return true;
  error_at(c, at, "order",
           "groups of zero_group = \"node\" are on one node in the order tp cp pp dp");
  fix_last(c, "remove order");
  return false;
}

bool place_is_in_domain(const Fabric *fabric, const Placement *at, uint32_t axes) {
  Reach reach = place_reach(fabric, at, axes, -1);
  bool has_block = fabric->level_count > 0 && fabric->levels[0].bytes_per_s > 0;
  if (!fabric->is_fast || reach.node_members == 0) return true;
  return reach.distance <= (has_block ? 1 : 0) && !reach.is_slow_inside;
}

/* Ranks that are joined at most: those of a node, of an NVLink domain, of a node's part. */
static int64_t domain_ranks(const Fabric *fabric) {
  int64_t least = 0;
  for (int32_t k = 0; k < fabric->kind_count; k++) {
    const NodeKind *kind = &fabric->kinds[k];
    int64_t ranks = kind->seat_count;
    if (kind->pairs && kind->host->domain_count > 1) ranks /= kind->host->domain_count;
    if (least == 0 || ranks < least) least = ranks;
  }
  bool has_block = fabric->level_count > 0 && fabric->levels[0].bytes_per_s > 0;
  return has_block ? least * fabric->levels[0].unit_nodes : least;
}

bool place_check_tp(Compile *c, const Job *job, const Fabric *fabric, const Placement *at) {
  uint32_t axes = MESH_BIT(MESH_TP) | MESH_BIT(MESH_TP_GROUP);
  if (job->parallel.tp_across || place_is_in_domain(fabric, at, axes)) return true;
  int64_t tp = job->parallel.tp, ranks = domain_ranks(fabric), smaller = tp;
  while (smaller > 1 && (smaller > ranks || tp % smaller != 0))
    smaller--;
  Span span = job->origin[FIELD_parallel_tp].span;
  error_at(
      c, span.file ? span : job->cluster.head_origin.span, "tp-across-domains",
      "tp %lld reaches over links that are slower than those of a domain, which joins %lld ranks",
      (long long)tp, (long long)ranks);
  if (smaller < tp)
    fix_last(c, "tp = %lld", (long long)smaller);
  else
    fix_last(c, "remove order");
  note_at(c, (Span){0}, "parallel.tp_across = true takes it as it is");
  return false;
}
