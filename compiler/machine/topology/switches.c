/* switches.c -- lists of hosts, what a network must keep to, and its screens. */
#include "compiler/machine/topology/switches.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *network_kind_name(NetworkKind kind) {
  static const char *const names[] = {"tree", "block", "flat", "ring", "torus3d"};
  return names[kind];
}

/* ---- host lists */

typedef struct HostExpansion {
  Compile *c;
  Span span;
  const char *text; /* all of it, for the message */
  int32_t most;
  Names *names;
} HostExpansion;

static bool refuse_list(const HostExpansion *e, const char *why) {
  error_at(e->c, e->span, "topology-hosts", "'%.60s' is no list of hosts: %s", e->text, why);
  fix_last(e->c, "as in n[01-04,07],login");
  return false;
}

static bool refuse_length(const HostExpansion *e) {
  error_at(e->c, e->span, "topology-hosts", "'%.60s' names more than %d hosts", e->text, e->most);
  fix_last(e->c, "the part of the cluster that jobs run on: %d nodes and %d switches at most",
           HOSTS_MOST, SWITCHES_MOST);
  return false;
}

static bool expand(HostExpansion *e, const char *done, const char *rest);

/* One "01-04" of a bracket; `after` is the text after the bracket. */
static bool expand_range(HostExpansion *e, const char *done, const char *range, const char *after) {
  char *end;
  size_t width = strspn(range, "0123456789");
  if (width == 0 || width > 9) return refuse_list(e, "brackets hold numbers of up to 9 digits");
  long first = strtol(range, &end, 10), last = first;
  if (*end == '-') {
    if (!isdigit((unsigned char)end[1]) || strspn(end + 1, "0123456789") > 9)
      return refuse_list(e, "a range is two numbers");
    last = strtol(end + 1, &end, 10);
  }
  if (*end != ',' && *end != ']') return refuse_list(e, "a bracket holds numbers and ranges");
  if (last < first) return refuse_list(e, "a range runs upwards");
  if (last - first >= e->most) return refuse_length(e);
  for (long number = first; number <= last; number++)
    if (!expand(e, arena_printf(e->c->arena, "%s%0*ld", done, (int)width, number), after))
      return false;
  return true;
}

/* `done` is a name so far, `rest` what follows of the item: one name for each number of its
 * brackets. */
static bool expand(HostExpansion *e, const char *done, const char *rest) {
  const char *open = strchr(rest, '[');
  if (strlen(done) > 256) return refuse_list(e, "a name is too long");
  if (!open) {
    if (e->names->list.count >= e->most) return refuse_length(e);
    VEC_PUSH(e->c->arena, &e->names->list, arena_printf(e->c->arena, "%s%s", done, rest));
    return true;
  }
  const char *close = strchr(open, ']');
  if (!close) return refuse_list(e, "a bracket is not closed");
  char *before = arena_copy_n(e->c->arena, rest, (size_t)(open - rest));
  done = arena_printf(e->c->arena, "%s%s", done, before);
  for (const char *range = open + 1; range < close; range += strcspn(range, ",]") + 1)
    if (!expand_range(e, done, range, close + 1)) return false;
  return close > open + 1 ? true : refuse_list(e, "a bracket is empty");
}

/* Commas inside brackets belong to them. */
static size_t item_length(const char *text) {
  size_t length = 0;
  for (bool is_inside = false; text[length] && (is_inside || text[length] != ','); length++)
    is_inside = text[length] == '[' || (is_inside && text[length] != ']');
  return length;
}

bool hostlist_expand(Compile *c, Span span, const char *text, int32_t most, Names *names) {
  HostExpansion e = {c, span, text, most, names};
  if (!*text) return refuse_list(&e, "it is empty");
  for (const char *at = text; *at;) {
    size_t length = item_length(at), brackets = 0;
    for (size_t i = 0; i < length; i++)
      brackets += at[i] == '[';
    if (length == 0) return refuse_list(&e, "a name is missing");
    if (length > 4096 || brackets > 4) return refuse_list(&e, "a name is too long");
    if (!expand(&e, "", arena_copy_n(c->arena, at, length))) return false;
    at += length;
    if (*at == ',') at++;
  }
  return true;
}

/* ---- a network */

static Span span_of(Span file, const Switch *at) {
  return (Span){.file = file.file, .line = at->line};
}

bool switches_add(Compile *c, Span span, Switches *network, Switch added) {
  if (!added.name || !*added.name) {
    error_at(c, span, "topology-switches", "a switch or block without a name");
    fix_last(c, network->kind == NETWORK_BLOCK ? "BlockName=b1" : "SwitchName=s1");
    return false;
  }
  if (network->list.count == SWITCHES_MOST) {
    error_at(c, span, "topology-limit", "more than %d switches", SWITCHES_MOST);
    fix_last(c, "the part of the cluster that jobs run on");
    return false;
  }
  added.parent = -1;
  VEC_PUSH(c->arena, &network->list, added);
  return true;
}

/* Names in order, to look them up and to find repeated ones. */
typedef struct SwitchEntry {
  const char *name;
  int32_t index;
} SwitchEntry;

static int compare_entries(const void *a, const void *b) {
  const SwitchEntry *x = a, *y = b;
  int order = strcmp(x->name, y->name);
  return order ? order : (x->index > y->index) - (x->index < y->index);
}

static int compare_names(const void *a, const void *b) {
  return strcmp(((const SwitchEntry *)a)->name, ((const SwitchEntry *)b)->name);
}

static SwitchEntry *sorted_switches(Compile *c, Span span, const Switches *network) {
  int32_t count = network->list.count;
  SwitchEntry *entries = ARENA_ARRAY(c->arena, SwitchEntry, count + 1);
  for (int32_t i = 0; i < count; i++)
    entries[i] = (SwitchEntry){network->list.at[i].name, i};
  qsort(entries, (size_t)count, sizeof *entries, compare_entries);
  for (int32_t i = 1; i < count; i++)
    if (strcmp(entries[i].name, entries[i - 1].name) == 0) {
      error_at(c, span_of(span, &network->list.at[entries[i].index]), "topology-duplicate",
               "%.60s is in the file twice", entries[i].name);
      fix_last(c, "one line for it, with the nodes or switches of both");
      return NULL;
    }
  return entries;
}

/* The switch that may have been meant. */
static void fix_near(Compile *c, const Switches *network, const char *name) {
  int32_t count = network->list.count;
  const char **names = ARENA_ARRAY(c->arena, const char *, count + 1);
  for (int32_t i = 0; i < count; i++)
    names[i] = network->list.at[i].name;
  const char *near = nearest_word(name, names, count);
  if (near)
    fix_last(c, "%.60s", near);
  else
    fix_last(c, "a switch %.60s with nodes, or without it here", name);
}

static bool tie_children(Compile *c, Span span, Switches *network, const SwitchEntry *entries) {
  size_t count = (size_t)network->list.count;
  for (int32_t i = 0; i < network->list.count; i++) {
    Switch *parent = &network->list.at[i];
    Span line = span_of(span, parent);
    Names names = {0};
    if (!parent->children) continue;
    if (!hostlist_expand(c, line, parent->children, SWITCHES_MOST, &names)) return false;
    for (int32_t n = 0; n < names.list.count; n++) {
      const SwitchEntry wanted = {names.list.at[n], 0};
      const SwitchEntry *found = bsearch(&wanted, entries, count, sizeof *entries, compare_names);
      if (!found) {
        error_at(c, line, "topology-switches",
                 "%.60s names the switch %.60s, which the file does not have", parent->name,
                 wanted.name);
        fix_near(c, network, wanted.name);
        return false;
      }
      Switch *child = &network->list.at[found->index];
      if (child->parent >= 0) {
        error_at(c, line, "topology-switches", "%.60s is below both %.60s and %.60s", child->name,
                 network->list.at[child->parent].name, parent->name);
        fix_last(c, "a tree: each switch below one other; of several spines that are alike, one");
        return false;
      }
      child->parent = i;
      parent->child_count++;
    }
  }
  return true;
}

/* Up from every switch: its hosts count above, and no way up is longer than there are switches. */
static bool find_levels(Compile *c, Span span, Switches *network) {
  for (int32_t i = 0; i < network->list.count; i++) {
    int32_t level = 0, up = i;
    for (; up >= 0; up = network->list.at[up].parent, level++) {
      Switch *at = &network->list.at[up];
      if (level > 64) {
        error_at(c, span_of(span, at), "topology-switches",
                 "%.60s is above itself, or the tree has more than 64 levels", at->name);
        fix_last(c, "put each switch below one that is not below it");
        return false;
      }
      if (at->level < level) at->level = level;
      at->total_hosts += network->list.at[i].host_count;
    }
  }
  return true;
}

/* Slurm's word for every node that it has, which only its slurm.conf names. */
static bool take_all(Compile *c, Span span, Switches *network, const Switch *leaf) {
  for (int32_t i = 0; i < network->list.count; i++) {
    const Switch *other = &network->list.at[i];
    if (!other->hosts || other == leaf) continue;
    error_at(c, span, "topology-hosts", "%.60s has ALL nodes, and %.60s some of them", leaf->name,
             other->name);
    fix_last(c, "the names of its own nodes; sinfo -h -o %%N lists all");
    return false;
  }
  network->has_all = true;
  return true;
}

/* Each place of a torus has a node. */
static bool check_torus(Compile *c, Span span, const Switch *at) {
  int64_t places = (int64_t)at->dims[0] * at->dims[1] * at->dims[2];
  if (places == at->host_count) return true;
  error_at(c, span, "topology-value",
           "%.60s is %d x %d x %d, which is %lld place%s, and has %d node%s", at->name, at->dims[0],
           at->dims[1], at->dims[2], (long long)places, plural(places), at->host_count,
           plural(at->host_count));
  fix_last(c, "dims whose product is %d, or nodes: of every place", at->host_count);
  return false;
}

static bool expand_hosts(Compile *c, Span span, Switches *network) {
  for (int32_t i = 0; i < network->list.count; i++) {
    Switch *at = &network->list.at[i];
    Names names = {0};
    if (!at->hosts) continue;
    if (strcasecmp(at->hosts, "ALL") == 0) {
      if (!take_all(c, span_of(span, at), network, at)) return false;
      continue;
    }
    int32_t room = HOSTS_MOST - network->hosts.count;
    if (!hostlist_expand(c, span_of(span, at), at->hosts, room, &names)) return false;
    at->host_count = names.list.count;
    if (network->kind == NETWORK_TORUS && !check_torus(c, span_of(span, at), at)) return false;
    for (int32_t n = 0; n < names.list.count; n++) {
      VEC_PUSH(c->arena, &network->hosts, names.list.at[n]);
      VEC_PUSH(c->arena, &network->host_switch, i);
    }
  }
  return true;
}

static bool check_hosts(Compile *c, Span span, const Switches *network) {
  int32_t count = network->hosts.count;
  SwitchEntry *entries = ARENA_ARRAY(c->arena, SwitchEntry, count + 1);
  for (int32_t i = 0; i < count; i++)
    entries[i] = (SwitchEntry){network->hosts.at[i], i};
  qsort(entries, (size_t)count, sizeof *entries, compare_entries);
  for (int32_t i = 1; i < count; i++) {
    if (strcmp(entries[i].name, entries[i - 1].name) != 0) continue;
    int32_t first = network->host_switch.at[entries[i - 1].index],
            again = network->host_switch.at[entries[i].index];
    error_at(c, span_of(span, &network->list.at[again]), "topology-duplicate",
             "the node %.60s is at %.60s and at %.60s", entries[i].name,
             network->list.at[first].name, network->list.at[again].name);
    fix_last(c, "name it at one of them");
    return false;
  }
  return true;
}

bool switches_finish(Compile *c, Span span, Switches *network) {
  if (network->kind == NETWORK_FLAT) return true;
  if (network->list.count == 0) {
    error_at(c, span, "topology-switches", "the file describes no switch and no block");
    fix_last(c, "SwitchName=s1 Nodes=n[1-4]");
    return false;
  }
  for (int32_t i = 0; i < network->list.count; i++) {
    const Switch *at = &network->list.at[i];
    if (!at->hosts != !at->children) continue;
    error_at(c, span_of(span, at), "topology-switches", "%.60s has %s", at->name,
             at->hosts ? "both nodes and switches" : "neither nodes nor switches");
    fix_last(c, "a switch has one of them: its nodes, or the switches below it");
    return false;
  }
  const SwitchEntry *entries = sorted_switches(c, span, network);
  return entries && expand_hosts(c, span, network) && tie_children(c, span, network, entries) &&
         check_hosts(c, span, network) && find_levels(c, span, network);
}

/* ---- screens */

enum { LINES_MOST = 48 };

static void print_switch(const Switches *network, int32_t index, int32_t depth, FILE *out) {
  const Switch *at = &network->list.at[index];
  int32_t indent = 2 + 2 * (depth < 16 ? depth : 16);
  int32_t column = fprintf(out, "%*s%.24s", indent, "", at->name);
  column += fprintf(out, "%*s", column < 24 ? 24 - column : 2, "");
  if (network->has_all) {
    fprintf(out, "   all nodes%s%.40s\n", at->children ? "  " : "",
            at->children ? at->children : "");
    return;
  }
  const char *hosts = at->hosts ? at->hosts : at->children;
  int32_t room = 78 - column - 18;
  fprintf(out, "%6d node%s  %.*s%s", at->total_hosts, at->total_hosts == 1 ? " " : "s",
          room > 8 ? room - 3 : 5, hosts,
          (int32_t)strlen(hosts) > (room > 8 ? room - 3 : 5) ? "..." : "");
  if (network->kind == NETWORK_TORUS)
    fprintf(out, "  %dx%dx%d", at->dims[0], at->dims[1], at->dims[2]);
  fputc('\n', out);
}

/* Depth first; what does not fit on a screen is counted. */
static void print_below(Arena *arena, const Switches *network, int32_t *lines, FILE *out) {
  int32_t count = network->list.count, depth = 0;
  bool *is_done = ARENA_ARRAY(arena, bool, count + 1);
  int32_t *next =
      ARENA_ARRAY(arena, int32_t, count + 1); /* of the children of one: the next sibling */
  int32_t *first = ARENA_ARRAY(arena, int32_t, count + 1);
  for (int32_t i = 0; i <= count; i++)
    first[i] = -1;
  for (int32_t i = count - 1; i >= 0; i--) {
    int32_t parent = network->list.at[i].parent < 0 ? count : network->list.at[i].parent;
    next[i] = first[parent], first[parent] = i;
  }
  for (int32_t at = first[count]; at >= 0 && *lines < LINES_MOST;) {
    if (!is_done[at]) {
      print_switch(network, at, depth, out);
      is_done[at] = true, ++*lines;
      if (first[at] >= 0) {
        at = first[at], depth++;
        continue;
      }
    }
    while (at >= 0 && next[at] < 0)
      at = network->list.at[at].parent, depth--;
    if (at >= 0) at = next[at];
  }
}

void switches_print(Arena *arena, const Switches *network, FILE *out) {
  int32_t levels = 0, lines = 0;
  for (int32_t i = 0; i < network->list.count; i++)
    if (network->list.at[i].level >= levels) levels = network->list.at[i].level + 1;
  fprintf(out, "network  %s", network_kind_name(network->kind));
  if (network->name)
    fprintf(out, "  %.40s%s", network->name, network->is_default ? " (default)" : "");
  int32_t count = network->list.count;
  static const char *const members[][2] = {[NETWORK_TREE] = {"switch", "switches"},
                                           [NETWORK_BLOCK] = {"block", "blocks"},
                                           [NETWORK_FLAT] = {"", ""},
                                           [NETWORK_RING] = {"ring", "rings"},
                                           [NETWORK_TORUS] = {"torus", "toruses"}};
  if (network->has_all)
    fprintf(out, "  all nodes, %d %s", count, members[network->kind][count > 1]);
  else if (count > 0)
    fprintf(out, "  %d node%s, %d %s", network->hosts.count, plural(network->hosts.count), count,
            members[network->kind][count > 1]);
  if (network->kind == NETWORK_TREE) fprintf(out, ", %d level%s", levels, plural(levels));
  fputc('\n', out);
  if (network->block_sizes.count > 0) {
    fprintf(out, "  block sizes");
    for (int32_t i = 0; i < network->block_sizes.count && i < 8; i++)
      fprintf(out, "%s%lld", i > 0 ? ", " : " ", (long long)network->block_sizes.at[i]);
    fprintf(out, " nodes\n");
  }
  if (network->kind == NETWORK_FLAT) fprintf(out, "  every node is as near as any other\n");
  print_below(arena, network, &lines, out);
  if (lines < network->list.count)
    fprintf(out, "  ... and %d more; --json has all\n", network->list.count - lines);
}

void switches_json(const Switches *network, FILE *out) {
  fprintf(out, "{\"kind\": \"%s\", \"name\": ", network_kind_name(network->kind));
  print_json_text(network->name, out);
  fprintf(out, ", \"default\": %s, \"all_nodes\": %s, \"nodes\": %d, \"block_sizes\": [",
          network->is_default ? "true" : "false", network->has_all ? "true" : "false",
          network->hosts.count);
  for (int32_t i = 0; i < network->block_sizes.count; i++)
    fprintf(out, "%s%lld", i > 0 ? ", " : "", (long long)network->block_sizes.at[i]);
  fputs("], \"switches\": [", out);
  for (int32_t i = 0; i < network->list.count; i++) {
    const Switch *at = &network->list.at[i];
    fprintf(out, "%s\n  {\"name\": ", i > 0 ? "," : "");
    print_json_text(at->name, out);
    fprintf(out, ", \"parent\": %d, \"level\": %d, \"nodes\": %d, \"own_nodes\": ", at->parent,
            at->level, at->total_hosts);
    print_json_text(at->hosts, out);
    if (network->kind == NETWORK_TORUS)
      fprintf(out, ", \"dims\": [%d, %d, %d]", at->dims[0], at->dims[1], at->dims[2]);
    fputc('}', out);
  }
  fputs("]}", out);
}
