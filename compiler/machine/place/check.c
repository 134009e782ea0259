/* check.c -- checks what a user asks of a placement. */
#include <string.h>

#include "compiler/machine/place/place.h"

bool place_check_order(Compile *c, const Job *job) {
  Order order;
  Span at = job->origin[FIELD_parallel_order].span;
  if (!job->set[FIELD_parallel_order]) return true;
  if (!order_parse(job->parallel.order, &order)) {
    error_at(c, at, "order", "order names tp, cp, pp and dp once each, innermost first; got \"%s\"",
             text_plain(c->arena, job->parallel.order));
    fix_last(c, "order = \"tp cp pp dp\"");
    if (strchr(job->parallel.order, '-'))
      note_at(c, (Span){0}, "one axis may be on a slant, by axes inside it: dp*2 tp cp pp dp-tp");
    return false;
  }
  bool is_usual = order.count == ORDER_WORDS;
  for (int32_t i = 0; i < ORDER_WORDS; i++)
    is_usual &= order.term[i].word == order_usual.term[i].word && order.term[i].slant == 0;
  if (is_usual || job->parallel.zero_group != ZERO_GROUP_NODE) return true;
  error_at(c, at, "order",
           "groups of zero_group = \"node\" are on one node in the order tp cp pp dp");
  fix_last(c, "remove order");
  return false;
}

/* Called when degrees are known. */
bool place_check_parts(Compile *c, const Job *job, const Fabric *fabric, const JobMesh *mesh) {
  Order order;
  if (!job->set[FIELD_parallel_order] || !order_parse(job->parallel.order, &order)) return true;
  if (place_in_order(fabric, mesh, &order)) return true;
  error_at(c, job->origin[FIELD_parallel_order].span, "order",
           "a part of \"%s\" does not divide its axis: tp %lld, cp %lld, pp %lld, dp %lld",
           text_plain(c->arena, job->parallel.order), (long long)order_word_size(mesh, ORDER_TP),
           (long long)order_word_size(mesh, ORDER_CP), (long long)order_word_size(mesh, ORDER_PP),
           (long long)order_word_size(mesh, ORDER_DP));
  fix_last(c, "order = \"tp cp pp dp\"");
  return false;
}

bool place_is_in_domain(const Fabric *fabric, const Placement *at, uint32_t axes) {
  Reach reach = place_reach(fabric, at, axes, -1);
  bool has_block = fabric->level_count > 0 && fabric->levels[0].bytes_per_s > 0;
  if (!fabric->is_fast || reach.node_members == 0) return true;
  return reach.distance <= (has_block ? 1 : 0) && !reach.is_slow_inside;
}

/* The number of nodes of the smallest NVLink domain, which may have trays missing. */
static int64_t block_nodes(const Fabric *fabric) {
  const Level *level = &fabric->levels[0];
  if (!level->unit) return level->unit_nodes;
  int64_t least = fabric->node_count;
  for (int64_t n = 0, first = 0; n < fabric->node_count; n++) {
    bool is_last = n + 1 == fabric->node_count || level->unit[n + 1] != level->unit[n];
    if (is_last && n + 1 - first < least) least = n + 1 - first;
    if (is_last) first = n + 1;
  }
  return least;
}

/* The most ranks that fast links connect: those of a node, of an NVLink domain, or of a part of a
 * node. */
static int64_t domain_ranks(const Fabric *fabric) {
  int64_t least = 0;
  for (int32_t k = 0; k < fabric->kind_count; k++) {
    const NodeKind *kind = &fabric->kinds[k];
    int64_t ranks = kind->seat_count;
    if (kind->pairs && kind->host->domain_count > 1) ranks /= kind->host->domain_count;
    if (least == 0 || ranks < least) least = ranks;
  }
  bool has_block = fabric->level_count > 0 && fabric->levels[0].bytes_per_s > 0;
  return has_block ? least * block_nodes(fabric) : least;
}

enum { ODD_HOSTS_MOST = 32 };

/* The number of nodes of the NVLink domain that begins at a node. */
static int64_t domain_nodes(const Fabric *fabric, int64_t first) {
  const Level *level = &fabric->levels[0];
  int64_t end = level->unit ? first + 1 : first + level->unit_nodes;
  while (level->unit && end < fabric->node_count && level->unit[end] == level->unit[first])
    end++;
  return (end < fabric->node_count ? end : fabric->node_count) - first;
}

/* Hosts left over after whole groups in their NVLink domain, "t017,t054": without them no group
 * straddles two domains. NULL: hosts have no names, or all are left over. */
static const char *odd_hosts(Arena *arena, const Fabric *fabric, int64_t group_nodes) {
  const char *text = NULL;
  int64_t odd = 0;
  for (int64_t first = 0, count; first < fabric->node_count; first += count) {
    count = domain_nodes(fabric, first);
    for (int64_t n = first + count - count % group_nodes; n < first + count; n++, odd++)
      if (fabric->hosts && odd < ODD_HOSTS_MOST)
        text = arena_printf(arena, "%s%s%s", text ? text : "", text ? "," : "", fabric->hosts[n]);
  }
  return odd < fabric->node_count && odd <= ODD_HOSTS_MOST ? text : NULL;
}

/* For groups of several nodes that do not fill domains: a value of `drained` that leaves out the
 * surplus hosts, or NULL. */
static const char *drained_for(Compile *c, const Job *job, const Fabric *fabric) {
  bool has_block = fabric->level_count > 0 && fabric->levels[0].bytes_per_s > 0;
  int64_t seats = fabric->kinds[0].seat_count, tp = job->parallel.tp;
  if (!has_block || fabric->kind_count > 1 || tp % seats != 0) return NULL;
  const char *odd = odd_hosts(c->arena, fabric, tp / seats);
  const char *drained = job->set[FIELD_cluster_drained] ? job->cluster.drained : NULL;
  return odd && drained ? arena_printf(c->arena, "%s,%s", drained, odd) : odd;
}

bool place_check_tp(Compile *c, const Job *job, const Fabric *fabric, const Placement *at) {
  uint32_t axes = MESH_BIT(MESH_TP) | MESH_BIT(MESH_TP_GROUP);
  if (job->parallel.tp_across || place_is_in_domain(fabric, at, axes)) return true;
  int64_t tp = job->parallel.tp, ranks = domain_ranks(fabric), smaller = tp;
  bool is_asked =
      job->set[FIELD_parallel_order] && job->origin[FIELD_parallel_order].kind != ORIGIN_DERIVED;
  while (smaller > 1 && (smaller > ranks || tp % smaller != 0))
    smaller--;
  while (!is_asked && smaller > 1 && (ranks % smaller != 0 || tp % smaller != 0))
    smaller--; /* with more, some group straddles two domains in any order */
  Span span = job->origin[FIELD_parallel_tp].span;
  error_at(
      c, span.file ? span : job->cluster.head_origin.span, "tp-across-domains",
      "tp %lld reaches over links that are slower than those of a domain, which joins %lld rank%s",
      (long long)tp, (long long)ranks, plural(ranks));
  const char *drained = is_asked ? NULL : drained_for(c, job, fabric);
  if (smaller < tp)
    fix_last(c, "tp = %lld", (long long)smaller);
  else if (drained)
    fix_last(c, "drained = \"%s\"", drained);
  else if (is_asked)
    fix_last(c, "remove order");
  if (drained)
    note_at(c, (Span){0}, "drained = \"%s\" leaves out nodes that are too many for whole groups",
            drained);
  note_at(c, (Span){0}, "parallel.tp_across = true allows it");
  return false;
}
