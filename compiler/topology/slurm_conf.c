/* slurm_conf.c -- Slurm's topology.conf: SwitchName= and BlockName= lines of topology/tree and
 * topology/block. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "compiler/topology/switches.h"

enum { LINE_BYTES_MOST = 65536 };

typedef struct Conf {
  Compile *c;
  Span span; /* of the line */
  Switches *network;
} Conf;

static bool add_block_sizes(Conf *conf, const char *text) {
  for (const char *at = text; *at;) {
    char *end;
    errno = 0;
    long long size = strtoll(at, &end, 10);
    bool is_good =
        end != at && errno == 0 && size > 0 && size <= HOSTS_MOST && (!*end || *end == ',');
    if (!is_good || conf->network->block_sizes.count == 32)
      return error_at(conf->c, conf->span, "topology-value",
                      "BlockSizes=%.40s: numbers of nodes from 1 to %d are wanted", text,
                      HOSTS_MOST);
    VEC_PUSH(conf->c->arena, &conf->network->block_sizes, size);
    at = *end ? end + 1 : end;
  }
  return true;
}

/* One "Key=Value" of a line. LinkSpeed is read by Slurm and means nothing to it either. */
static bool take(Conf *conf, const char *key, const char *value, Switch *added) {
  if (strcasecmp(key, "SwitchName") == 0 || strcasecmp(key, "BlockName") == 0) {
    bool is_block = strcasecmp(key, "BlockName") == 0;
    NetworkKind kind = is_block ? NETWORK_BLOCK : NETWORK_TREE;
    if (conf->network->list.count > 0 && conf->network->kind != kind)
      return error_at(conf->c, conf->span, "topology-switches",
                      "a file holds switches or blocks, not both");
    conf->network->kind = kind;
    added->name = value;
    return true;
  }
  if (strcasecmp(key, "Switches") == 0) return added->children = value, true;
  if (strcasecmp(key, "Nodes") == 0) return added->hosts = value, true;
  if (strcasecmp(key, "BlockSizes") == 0) return add_block_sizes(conf, value);
  if (strcasecmp(key, "LinkSpeed") == 0) return true;
  static const char *const keys[] = {"SwitchName", "BlockName",  "Switches",
                                     "Nodes",      "BlockSizes", "LinkSpeed"};
  const char *near = nearest_word(key, keys, sizeof keys / sizeof *keys);
  error_at(conf->c, conf->span, "topology-value", "'%.40s' is no key of topology.conf", key);
  if (near) fix_last(conf->c, "%s=", near);
  return false;
}

static bool read_line(Conf *conf, char *line) {
  Switch added = {.line = conf->span.line};
  bool has_words = false, is_size = false;
  char *rest = NULL;
  for (char *word = strtok_r(line, " \t\r", &rest); word; word = strtok_r(NULL, " \t\r", &rest)) {
    char *value = strchr(word, '=');
    if (!value)
      return error_at(conf->c, conf->span, "topology-value",
                      "'%.40s' is neither Key=Value of Slurm's topology.conf nor XML", word);
    *value++ = 0;
    has_words = true;
    is_size |= strcasecmp(word, "BlockSizes") == 0;
    if (!take(conf, word, arena_copy(conf->c->arena, value), &added)) return false;
  }
  if (!has_words || (is_size && !added.name)) return true;
  return switches_add(conf->c, conf->span, conf->network, added);
}

bool slurm_conf_read(Compile *c, const char *path, const char *text, SwitchesList *networks) {
  Switches network = {.is_default = true, .line = 1};
  Conf conf = {c, {.file = path, .line = 0}, &network};
  for (const char *at = text; *at;) {
    size_t length = strcspn(at, "\n");
    conf.span.line++;
    if (length > LINE_BYTES_MOST)
      return error_at(c, conf.span, "topology-limit", "a line of more than 64 KiB");
    char *line = arena_copy_n(c->arena, at, length);
    line[strcspn(line, "#")] = 0;
    if (!read_line(&conf, line)) return false;
    at += length + (at[length] == '\n');
  }
  if (!switches_finish(c, (Span){.file = path}, &network)) return false;
  VEC_PUSH(c->arena, networks, network);
  return true;
}
