/* network.c -- nodes in the order of their switches, with the levels above them. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/machine/place/describe.h"
#include "compiler/machine/topology/read.h"

enum { NODES_MOST = 1 << 20 };

typedef struct Host {
  const char *name;
  int32_t leaf;   /* the host's switch */
  int32_t number; /* among the hosts of its switch, drained ones counted */
} Host;

typedef struct Hosts {
  VEC(Host) list;
} Hosts;

/* ---- which hosts */

static const Switches *read_switches(Compile *c, const Cluster *cluster) {
  Topology topology;
  if (!topology_read(c, cluster->switches, &topology)) {
    note_at(c, cluster->switches_at, "named here");
    return NULL;
  }
  if (topology.networks.count == 0) {
    error_at(c, cluster->switches_at, "topology-kind", "%s describes a node, not a network",
             cluster->switches);
    bool is_hwloc = strncmp(topology.node->source, "hwloc", strlen("hwloc")) == 0;
    fix_last(c, "%s = \"%s\"", is_hwloc ? "hwloc" : "nccl_topo", cluster->switches);
    return NULL;
  }
  const Switches *network = &topology.networks.at[0];
  for (int32_t i = 1; i < topology.networks.count; i++)
    if (topology.networks.at[i].is_default) network = &topology.networks.at[i];
  if (network->kind != NETWORK_RING && network->kind != NETWORK_TORUS) return network;
  error_at(c, cluster->switches_at, "topology-kind",
           "%s is a %s, whose paths have no price here; a tree, blocks or a flat network have",
           cluster->switches, network_kind_name(network->kind));
  fix_last(c, "nodes = %d, without switches: all equally far", network->hosts.count);
  return NULL;
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted, so that it can be asked for each of many hosts. */
static bool expand_sorted(Compile *c, Span at, const char *text, Names *names) {
  if (!hostlist_expand(c, at, text, HOSTS_MOST, names)) return false;
  qsort(names->list.at, (size_t)names->list.count, sizeof *names->list.at, by_name);
  return true;
}

static bool has_name(const Names *names, const char *name) {
  return names->list.count > 0 && bsearch(&name, names->list.at, (size_t)names->list.count,
                                          sizeof *names->list.at, by_name) != NULL;
}

static Names sorted_hosts(Compile *c, const Switches *network) {
  Names hosts = {0};
  for (int32_t h = 0; h < network->hosts.count; h++)
    VEC_PUSH(c->arena, &hosts.list, network->hosts.at[h]);
  if (hosts.list.count > 0)
    qsort(hosts.list.at, (size_t)hosts.list.count, sizeof *hosts.list.at, by_name);
  return hosts;
}

/* Checks that every node that the cluster names, drained or of a type, exists. */
static bool check_names(Compile *c, const Cluster *cluster, const Names *hosts, const Names *named,
                        Span at, const char *who) {
  assert(hosts->list.at); /* a network without hosts is only counted */
  for (int32_t i = 0; i < named->list.count; i++) {
    const char *name = named->list.at[i];
    if (has_name(hosts, name)) continue;
    error_at(c, at, "topology-hosts", "%s, which %s, is no host of %s", name, who,
             cluster->switches);
    const char *near = nearest_word(name, hosts->list.at, hosts->list.count);
    if (near)
      fix_last(c, "%s", near);
    else
      fix_last(c, "remove %s; %s has %s%s", name, cluster->switches, hosts->list.at[0],
               hosts->list.count > 1
                   ? arena_printf(c->arena, " to %s", hosts->list.at[hosts->list.count - 1])
                   : "");
    return false;
  }
  return true;
}

/* Hosts in the order of their switches: each switch has a run of them. */
typedef struct NetworkWalk {
  Compile *c;
  const Switches *network;
  const Names *drained;
  int32_t *first_child, *next_child; /* of a switch, in the order of the file; -1: none */
  int32_t *first_host, *next_host;
  Hosts hosts;
  int32_t best_first, best_count; /* of the smallest switch that has enough */
  int64_t wanted;
} NetworkWalk;

static void walk_switch(NetworkWalk *w, int32_t at) {
  int32_t first = w->hosts.list.count;
  int32_t number = 0;
  for (int32_t h = w->first_host[at]; h >= 0; h = w->next_host[h], number++)
    if (!has_name(w->drained, w->network->hosts.at[h]))
      VEC_PUSH(w->c->arena, &w->hosts.list, (Host){w->network->hosts.at[h], at, number});
  for (int32_t child = w->first_child[at]; child >= 0; child = w->next_child[child])
    walk_switch(w, child);
  int32_t count = w->hosts.list.count - first;
  bool is_better = w->best_count < 0 || count < w->best_count;
  if (w->wanted > 0 && count >= w->wanted && is_better)
    w->best_first = first, w->best_count = count;
}

/* Lists that begin at `first`, of items that belong to the owners. */
static void link_items(Compile *c, int32_t owners, int32_t items, const int32_t *owner,
                       int32_t **first, int32_t **next) {
  *first = ARENA_ARRAY(c->arena, int32_t, owners + 1);
  *next = ARENA_ARRAY(c->arena, int32_t, items + 1);
  for (int32_t i = 0; i <= owners; i++)
    (*first)[i] = -1;
  for (int32_t i = items - 1; i >= 0; i--) {
    int32_t of = owner[i] < 0 ? owners : owner[i]; /* items without an owner come last */
    (*next)[i] = (*first)[of];
    (*first)[of] = i;
  }
}

/* The hosts of the smallest switch that has enough of them, else all. */
static Hosts pick_hosts(Compile *c, const Switches *network, const Names *drained, int64_t wanted) {
  int32_t switches = network->list.count, count = network->hosts.count;
  int32_t *parents = ARENA_ARRAY(c->arena, int32_t, switches + 1);
  int32_t *leaves = ARENA_ARRAY(c->arena, int32_t, count + 1);
  for (int32_t i = 0; i < switches; i++)
    parents[i] = network->list.at[i].parent;
  for (int32_t h = 0; h < count; h++)
    leaves[h] = h < network->host_switch.count ? network->host_switch.at[h] : -1;
  NetworkWalk w = {
      .c = c, .network = network, .drained = drained, .best_count = -1, .wanted = wanted};
  link_items(c, switches, switches, parents, &w.first_child, &w.next_child);
  link_items(c, switches, count, leaves, &w.first_host, &w.next_host);
  walk_switch(&w, switches);
  for (int32_t i = w.hosts.list.count - 1; i >= 0; i--)
    if (w.hosts.list.at[i].leaf == switches) w.hosts.list.at[i].leaf = -1;
  if (w.best_count >= 0) {
    w.hosts.list.at += w.best_first;
    w.hosts.list.count = w.best_count;
  }
  return w.hosts;
}

/* ---- levels */

/* The lowest switch above a leaf, itself included, that is so high; -1: the network has none. */
static int32_t switch_at(const Switches *network, int32_t at, int32_t level) {
  while (at >= 0 && network->list.at[at].level < level)
    at = network->list.at[at].parent;
  return at;
}

static void add_levels(Fabric *fabric, const Switches *network, const Hosts *hosts, double taper) {
  int32_t top = 0;
  for (int32_t i = 0; i < network->list.count; i++)
    if (network->list.at[i].level > top) top = network->list.at[i].level;
  for (int32_t level = 0; level <= top && fabric->level_count < LEVELS_MOST; level++) {
    int32_t *unit = ARENA_ARRAY(fabric->arena, int32_t, fabric->node_count);
    bool is_split = false;
    for (int64_t n = 0; n < fabric->node_count; n++) {
      unit[n] = switch_at(network, hosts->list.at[n].leaf, level);
      is_split |= unit[n] != unit[0];
    }
    if (!is_split) continue;
    const char *name = network->kind == NETWORK_BLOCK ? "block"
                       : level == 0                   ? "leaf switch"
                                    : arena_printf(fabric->arena, "switch of level %d", level);
    fabric->levels[fabric->level_count++] = (Level){.name = name, .unit = unit, .taper = taper};
  }
}

/* An NVLink domain lies within a block, or a leaf switch that has room for one: where a node is
 * missing, the next domain begins all the same. */
static void split_blocks(Fabric *fabric, const Switches *network, const Hosts *hosts,
                         int64_t block) {
  int32_t *unit = ARENA_ARRAY(fabric->arena, int32_t, fabric->node_count), count = 0;
  if (block <= 1) return;
  for (int32_t i = 0; i < network->list.count; i++) {
    const Switch *at = &network->list.at[i];
    if (network->kind == NETWORK_TREE && at->level == 0 && at->host_count < block) return;
  }
  for (int64_t n = 1; n < fabric->node_count; n++) {
    const Host *host = &hosts->list.at[n], *before = host - 1;
    count += host->leaf != before->leaf || host->number / block != before->number / block;
    unit[n] = count;
  }
  fabric->levels[0].unit = unit;
}

/* An NVLink domain of several nodes is joined by links inside, at the rate of a node's own. */
static void add_block(Fabric *fabric, const Cluster *cluster) {
  if (cluster->block <= 1) return;
  double rate = fabric->kinds[0].intra_bytes_per_s;
  if (rate <= 0 && fabric->kinds[0].pairs && fabric->kinds[0].seat_count > 1)
    rate = fabric->kinds[0].pairs[1].bytes_per_s;
  fabric->levels[fabric->level_count++] = (Level){
      .name = "NVLink domain", .unit_nodes = cluster->block, .bytes_per_s = rate, .taper = 1};
}

/* ---- kinds of nodes */

/* The type that names the host; -1: none does. */
static int32_t named_kind(const Names *names, int32_t types, const char *host) {
  for (int32_t k = 0; host && k < types; k++)
    if (has_name(&names[k], host)) return k;
  return -1;
}

static bool list_type_hosts(Compile *c, const Cluster *cluster, int32_t kind, const Names *hosts,
                            Names *names) {
  const ClusterType *type = &cluster->types[kind];
  if (!type->hosts) return true;
  if (!expand_sorted(c, type->hosts_at, type->hosts, &names[kind])) return false;
  for (int32_t other = 0; other < kind; other++)
    for (int32_t i = 0; i < names[kind].list.count; i++) {
      const char *name = names[kind].list.at[i];
      if (!has_name(&names[other], name)) continue;
      error_at(c, type->hosts_at, "topology-hosts", "%s is of this type and of another", name);
      note_at(c, cluster->types[other].hosts_at, "here");
      fix_last(c, "name it once");
      return false;
    }
  return check_names(c, cluster, hosts, &names[kind], type->hosts_at, "a type has");
}

/* Refuses hosts that no type names; the message has the first one and their number. */
static bool refuse_typeless(Compile *c, const Cluster *cluster, const Fabric *fabric,
                            const Hosts *hosts, const Names *names, int64_t first) {
  int64_t count = 0;
  assert(hosts && hosts->list.at); /* without switches, nodes are those of the types */
  for (int64_t n = first; n < fabric->node_count; n++)
    count += named_kind(names, cluster->type_count, hosts->list.at[n].name) < 0;
  Span at = cluster->types[0].hosts_at;
  error_at(c, at.file ? at : cluster->at, "topology-hosts", "no type of nodes has %s%s",
           hosts->list.at[first].name,
           count > 1 ? arena_printf(c->arena, " and %lld more", (long long)count - 1) : "");
  fix_last(c, "one type more: { \"dgx-h100\", nodes = %lld }, or drained = \"%s\"",
           (long long)count, hosts->list.at[first].name);
  return false;
}

typedef struct NetworkRuns {
  VEC(NodeRun) list;
} NetworkRuns;

static void add_node(Fabric *fabric, int64_t node, int32_t kind, NetworkRuns *runs) {
  const NodeRun *last = runs->list.count > 0 ? &runs->list.at[runs->list.count - 1] : NULL;
  if (!last || last->kind != kind)
    VEC_PUSH(fabric->arena, &runs->list, (NodeRun){node, fabric->slot_count, kind});
  fabric->slot_count += fabric->kinds[kind].seat_count;
}

static const char **name_nodes(const Fabric *fabric, const Hosts *hosts) {
  const char **names = ARENA_ARRAY(fabric->arena, const char *, fabric->node_count);
  for (int64_t n = 0; n < fabric->node_count; n++)
    names[n] = hosts->list.at[n].name;
  return names;
}

/* Types that name hosts have these; the others are dealt in order. */
static bool deal_kinds(Compile *c, const Cluster *cluster, Fabric *fabric, const Hosts *hosts,
                       const Names *all) {
  int32_t count = cluster->type_count;
  Names *names = ARENA_ARRAY(c->arena, Names, count);
  int64_t *left = ARENA_ARRAY(c->arena, int64_t, count);
  NetworkRuns runs = {0};
  for (int32_t k = 0; k < count; k++) {
    bool is_open = !cluster->types[k].hosts;
    if (!list_type_hosts(c, cluster, k, all, names)) return false;
    left[k] = is_open ? cluster->types[k].nodes : 0;
    if (is_open && count == 1) left[k] = fabric->node_count;
  }
  for (int64_t n = 0; n < fabric->node_count; n++) {
    const char *host = hosts ? hosts->list.at[n].name : NULL;
    int32_t kind = named_kind(names, count, host);
    for (int32_t k = 0; kind < 0 && k < count; k++)
      if (left[k] > 0) kind = k;
    if (kind < 0) return refuse_typeless(c, cluster, fabric, hosts, names, n);
    left[kind] -= !cluster->types[kind].hosts;
    add_node(fabric, n, kind, &runs);
  }
  fabric->runs = runs.list.at;
  fabric->run_count = runs.list.count;
  fabric->hosts = hosts ? name_nodes(fabric, hosts) : NULL;
  return true;
}

/* ---- the whole network */

static bool refuse_count(Compile *c, const Cluster *cluster, int64_t wanted, int32_t found) {
  error_at(c, cluster->switches_at, "topology-hosts", "%lld node%s %s asked for, and %s has %d%s",
           (long long)wanted, plural(wanted), plural_is(wanted), cluster->switches, found,
           cluster->drained ? " that are not drained" : "");
  fix_last(c, "nodes = %d", found);
  return false;
}

static int64_t count_wanted(const Cluster *cluster) {
  int64_t wanted = 0;
  for (int32_t k = 0; k < cluster->type_count; k++) {
    if (cluster->types[k].hosts) return 0; /* all hosts, each has its type */
    wanted += cluster->types[k].nodes;
  }
  return wanted;
}

static bool refuse_hosts(Compile *c, Span at, const char *what) {
  error_at(c, at, "topology-hosts", "%s, and the cluster has none", what);
  fix_last(c, "switches = a topology.conf that names them, or nodes = in its place");
  return false;
}

/* Nodes that nobody names. */
static bool describe_count(Compile *c, const Cluster *cluster, Fabric *fabric) {
  if (cluster->drained)
    return refuse_hosts(c, cluster->drained_at, "drained names hosts of switches");
  for (int32_t k = 0; k < cluster->type_count; k++) {
    if (cluster->types[k].hosts)
      return refuse_hosts(c, cluster->types[k].hosts_at, "hosts of a type are hosts of switches");
    fabric->node_count += cluster->types[k].nodes;
  }
  if (fabric->node_count > NODES_MOST) {
    error_at(c, cluster->at, "range", "more than %d nodes", NODES_MOST);
    fix_last(c, "nodes = %d", NODES_MOST);
    return false;
  }
  return deal_kinds(c, cluster, fabric, NULL, NULL);
}

static bool describe_switches(Compile *c, const Cluster *cluster, Fabric *fabric) {
  Names drained = {0};
  const Switches *network = read_switches(c, cluster);
  if (!network) return false;
  int64_t wanted = count_wanted(cluster);
  if (network->hosts.count == 0) { /* flat, or the leaf of ALL */
    if (wanted > 0) return describe_count(c, cluster, fabric);
    error_at(c, cluster->switches_at, "topology-hosts",
             "%s names no nodes, and the cluster does not say how many there are",
             cluster->switches);
    fix_last(c, "nodes = 16");
    return false;
  }
  if (cluster->drained && !expand_sorted(c, cluster->drained_at, cluster->drained, &drained))
    return false;
  const Names all = sorted_hosts(c, network);
  if (!check_names(c, cluster, &all, &drained, cluster->drained_at, "is drained")) return false;
  Hosts hosts = pick_hosts(c, network, &drained, wanted);
  if (hosts.list.count < wanted || hosts.list.count == 0)
    return refuse_count(c, cluster, wanted, hosts.list.count);
  fabric->node_count = wanted > 0 ? wanted : hosts.list.count;
  split_blocks(fabric, network, &hosts, cluster->block);
  add_levels(fabric, network, &hosts, (double)cluster->taper);
  return deal_kinds(c, cluster, fabric, &hosts, &all);
}

bool describe_network(Compile *c, const Cluster *cluster, Fabric *fabric) {
  add_block(fabric, cluster);
  return (cluster->switches ? describe_switches : describe_count)(c, cluster, fabric);
}
