/* partitions.c -- see partitions.h. Times of sinfo: "infinite", "30:00", "12:00:00", "7-00:00:00".
 */
#include "slurm/partitions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/job/units.h"

/* ---- the site's profile */

/* "40 nodes, 24h", "24h", "40 nodes" */
static bool read_size(Arena *arena, const char *text, NodeGroup *out) {
  char *end;
  long long nodes = strtoll(text, &end, 10);
  if (strncmp(end, " node", 5) == 0 && nodes > 0) {
    out->nodes = nodes;
    text = end + (end[5] == 's' ? 6 : 5);
    text += strspn(text, ", ");
    if (!*text) return true;
  }
  return units_duration(arena_copy(arena, text), &out->limit_s) && out->limit_s > 0;
}

bool partitions_of_site(Compile *c, const Job *job, NodeGroups *out) {
  const PairList *said = &job->slurm.partitions;
  *out = (NodeGroups){.source = "the site's profile", .features = job->slurm.features};
  for (int32_t i = 0; i < said->count; i++) {
    const Pair *pair = &said->at[i];
    NodeGroup group = {.partition = pair->name};
    if (pair->is_off) continue;
    if (pair->text && !read_size(c->arena, pair->text, &group)) {
      error_at(c, pair->origin.span, "wrong-type",
               "slurm.partitions: \"%s\" is no size of a partition; got for %s",
               text_plain(c->arena, pair->text), pair->name);
      fix_last(c, "slurm.partitions = { %s = \"40 nodes, 24h\" }", pair->name);
      return false;
    }
    VEC_PUSH(c->arena, &out->groups, group);
  }
  return true;
}

/* ---- sinfo */

/* Seconds of "7-00:00:00"; 0: no limit. */
static double read_limit(const char *text) {
  char *end;
  double days = 0, s = 0;
  int32_t parts = 0;
  if (strchr(text, '-')) {
    days = strtod(text, &end);
    text = end + 1;
  }
  for (const char *p = text; *p >= '0' && *p <= '9'; p = end + (*end == ':')) {
    s = s * 60 + strtod(p, &end);
    parts++;
  }
  if (days > 0) /* hours come first */
    for (; parts < 3; parts++)
      s *= 60;
  return days * 86400 + s;
}

static void add_features(Arena *arena, NodeGroups *out, const char *features) {
  for (const char *p = features; *p; p += p[0] == ',') {
    size_t width = strcspn(p, ",");
    VEC_PUSH(arena, &out->features, arena_copy_n(arena, p, width));
    p += width;
  }
}

/* "gpu*|40|1-00:00:00|a100,nvme" */
static void add_line(Arena *arena, NodeGroups *out, char *line) {
  char *field[4] = {line};
  for (int32_t i = 1; i < 4; i++) {
    field[i] = strchr(field[i - 1], '|');
    if (!field[i]) return;
    *field[i]++ = 0;
  }
  size_t width = strlen(field[0]);
  NodeGroup group = {.nodes = strtoll(field[1], NULL, 10), .limit_s = read_limit(field[2])};
  group.is_default = width > 0 && field[0][width - 1] == '*';
  group.partition = arena_copy_n(arena, field[0], width - (group.is_default ? 1 : 0));
  group.features = strcmp(field[3], "(null)") == 0 ? "" : arena_copy(arena, field[3]);
  add_features(arena, out, group.features);
  VEC_PUSH(arena, &out->groups, group);
}

void partitions_of_sinfo(Arena *arena, const char *lines, NodeGroups *out) {
  *out = (NodeGroups){.source = "sinfo"};
  for (const char *p = lines; *p; p += *p == '\n') {
    size_t width = strcspn(p, "\n");
    add_line(arena, out, arena_copy_n(arena, p, width));
    p += width;
  }
}

/* ---- what a job asks for */

typedef struct Asking {
  Compile *c;
  const Launch *launch;
  const NodeGroups *site;
  const Pair *constraint; /* NULL: none */
} Asking;

static bool is_listed(const char *word, const char *list) {
  size_t width = strlen(word);
  for (const char *p = list; p && *p; p += *p == ',') {
    size_t here = strcspn(p, ",");
    if (here == width && strncmp(p, word, width) == 0) return true;
    p += here;
  }
  return false;
}

/* True if the partition is one that the job asks for, or the default one if it asks for none. */
static bool is_asked(const Asking *a, const NodeGroup *group) {
  const Job *job = a->launch->job;
  return job->set[FIELD_slurm_partition] ? is_listed(group->partition, job->slurm.partition)
                                         : group->is_default;
}

/* "gpx: there are gpu, debug" with the nearest first. */
static void refuse_name(const Asking *a, Span at, const char *what, const char *name,
                        const TextList *known) {
  const char *near = nearest_word(name, known->at, known->count), *text = "";
  for (int32_t i = 0; !near && i < known->count; i++)
    text = arena_printf(a->c->arena, "%s%s%s", text, i ? ", " : "", known->at[i]);
  error_at(a->c, at, "slurm-site", "there is no %s \"%s\" by %s; %s%s%s", what,
           text_plain(a->c->arena, name), a->site->source, near ? "did you mean " : "there are ",
           text_plain(a->c->arena, near ? near : text), near ? "?" : "");
}

static bool check_names(const Asking *a) {
  const Job *job = a->launch->job;
  TextList known = {0};
  int32_t errors = a->c->diags.error_count;
  for (int32_t i = 0; i < a->site->groups.count; i++)
    if (i == 0 || strcmp(a->site->groups.at[i].partition, a->site->groups.at[i - 1].partition) != 0)
      VEC_PUSH(a->c->arena, &known, a->site->groups.at[i].partition);
  if (!job->set[FIELD_slurm_partition] || known.count == 0) return true;
  for (const char *p = job->slurm.partition; *p; p += *p == ',') {
    size_t width = strcspn(p, ",");
    const char *name = arena_copy_n(a->c->arena, p, width);
    bool is_known = false;
    for (int32_t i = 0; i < known.count; i++)
      is_known |= strcmp(known.at[i], name) == 0;
    if (!is_known)
      refuse_name(a, field_place(job, FIELD_slurm_partition), "partition", name, &known);
    p += width;
  }
  return a->c->diags.error_count == errors;
}

/* Characters of a feature's name; between names are "&", "|", brackets and counts as in "*4". */
static size_t feature_width(const char *p) {
  return strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/=@%+");
}

static bool check_features(const Asking *a) {
  int32_t errors = a->c->diags.error_count;
  if (!a->constraint || a->site->features.count == 0) return true;
  for (const char *p = a->constraint->text; *p;) {
    bool is_count = *p == '*';
    p += is_count;
    size_t width = feature_width(p);
    const char *name = arena_copy_n(a->c->arena, p, width);
    bool is_known = width == 0 || is_count;
    for (int32_t i = 0; i < a->site->features.count; i++)
      is_known |= strcmp(a->site->features.at[i], name) == 0;
    if (!is_known) refuse_name(a, a->constraint->origin.span, "feature", name, &a->site->features);
    p += width > 0 ? width : *p && !is_count;
  }
  return a->c->diags.error_count == errors;
}

/* Nodes that fit a constraint of one word; other constraints are left to sbatch --test-only. */
static bool has_feature(const Asking *a, const NodeGroup *group) {
  if (!a->constraint || !group->features) return true;
  const char *word = a->constraint->text;
  return word[feature_width(word)] || is_listed(word, group->features);
}

/* Resources of the requested partitions: the most of any of them. */
typedef struct Room {
  const char *partition; /* one of them; NULL: nothing is known */
  int64_t nodes;
  double limit_s;
} Room;

/* All of its nodes that fit the constraint; INT64_MAX: not said. */
static int64_t nodes_of(const Asking *a, const char *partition) {
  int64_t nodes = 0;
  for (int32_t i = 0; i < a->site->groups.count; i++) {
    const NodeGroup *group = &a->site->groups.at[i];
    if (strcmp(group->partition, partition) != 0) continue;
    if (group->nodes == 0 && !group->features) return INT64_MAX;
    if (has_feature(a, group)) nodes += group->nodes;
  }
  return nodes;
}

static Room find_room(const Asking *a) {
  Room room = {0};
  for (int32_t i = 0; i < a->site->groups.count; i++) {
    const NodeGroup *group = &a->site->groups.at[i];
    if (!is_asked(a, group)) continue;
    int64_t nodes = nodes_of(a, group->partition);
    double limit_s = group->limit_s > 0 ? group->limit_s : INFINITY;
    room.partition = group->partition;
    if (nodes > room.nodes) room.nodes = nodes;
    if (limit_s > room.limit_s) room.limit_s = limit_s;
  }
  return room;
}

static bool refuse_nodes(const Asking *a, const Room *room, int64_t asked) {
  Arena *arena = a->c->arena;
  const char *word = a->constraint ? text_plain(arena, a->constraint->text) : NULL;
  const char *those = word ? arena_printf(arena, " with the feature %s", word) : "";
  return error_at(a->c, field_place(a->launch->job, FIELD_cluster_nodes), "slurm-site",
                  "the job takes %lld node%s%s; partition %s has %lld, by %s", (long long)asked,
                  plural(asked), those, text_plain(arena, room->partition), (long long)room->nodes,
                  a->site->source);
}

static bool refuse_time(const Asking *a, const Room *room) {
  const Job *job = a->launch->job;
  error_at(a->c, field_place(job, FIELD_slurm_time), "slurm-site",
           "slurm.time is %s; partition %s ends jobs after %s, by %s",
           format_seconds(a->c->arena, job->slurm.time.value),
           text_plain(a->c->arena, room->partition), format_seconds(a->c->arena, room->limit_s),
           a->site->source);
  fix_last(a->c, "slurm.time = \"%.0fm\"; a longer run goes on in the next job",
           room->limit_s / 60);
  return false;
}

static bool check_sizes(const Asking *a) {
  const Job *job = a->launch->job;
  int64_t asked = a->launch->nodes + job->slurm.spares;
  Room room = find_room(a);
  if (room.partition && asked > room.nodes) return refuse_nodes(a, &room, asked);
  if (room.partition && job->slurm.time.value > room.limit_s) return refuse_time(a, &room);
  return true;
}

bool partitions_check(Compile *c, const Launch *launch, const NodeGroups *site) {
  const PairList *options = &launch->job->slurm.sbatch;
  Asking a = {c, launch, site, NULL};
  for (int32_t i = 0; i < options->count; i++)
    if (strcmp(options->at[i].name, "constraint") == 0 && options->at[i].text)
      a.constraint = &options->at[i];
  bool has_names = check_names(&a), has_features = check_features(&a);
  return has_names && has_features && check_sizes(&a);
}
