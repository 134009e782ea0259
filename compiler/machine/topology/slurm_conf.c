/* slurm_conf.c -- Slurm's topology.conf: SwitchName= and BlockName= lines of topology/tree and
 * topology/block. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "compiler/machine/topology/switches.h"

enum { LINE_BYTES_MOST = 65536 };

typedef struct Conf {
  Compile *c;
  Span span; /* of the line; of lines that are joined, the first */
  Switches *network;
  const char *at; /* the rest of the text */
  int32_t line;   /* read so far */
  char *joined;   /* the line without its comment */
} Conf;

static bool add_block_sizes(Conf *conf, const char *text) {
  for (const char *at = text; *at;) {
    char *end;
    errno = 0;
    long long size = strtoll(at, &end, 10);
    bool is_good =
        end != at && errno == 0 && size > 0 && size <= HOSTS_MOST && (!*end || *end == ',');
    if (!is_good || conf->network->block_sizes.count == 32) {
      error_at(conf->c, conf->span, "topology-value",
               "BlockSizes=%.40s: numbers of nodes from 1 to %d are wanted", text, HOSTS_MOST);
      fix_last(conf->c, "BlockSizes=4,16");
      return false;
    }
    VEC_PUSH(conf->c->arena, &conf->network->block_sizes, size);
    at = *end ? end + 1 : end;
  }
  return true;
}

/* Slurm takes the last of two, and says so in its log. */
static bool take_once(Conf *conf, const char *key, const char *value, const char **to) {
  if (*to) {
    error_at(conf->c, conf->span, "topology-value", "%.40s is in the line twice", key);
    fix_last(conf->c, "%s=%.40s,%.40s", key, *to, value);
    return false;
  }
  *to = value;
  return true;
}

/* One "Key=Value" of a line. LinkSpeed is read by Slurm and means nothing to it either. */
static bool take(Conf *conf, const char *key, const char *value, Switch *added) {
  if (strcasecmp(key, "SwitchName") == 0 || strcasecmp(key, "BlockName") == 0) {
    bool is_block = strcasecmp(key, "BlockName") == 0;
    NetworkKind kind = is_block ? NETWORK_BLOCK : NETWORK_TREE;
    if (conf->network->list.count > 0 && conf->network->kind != kind) {
      error_at(conf->c, conf->span, "topology-switches",
               "a file holds switches or blocks, not both");
      fix_last(conf->c, "one file of each");
      return false;
    }
    conf->network->kind = kind;
    return take_once(conf, key, value, &added->name);
  }
  if (strcasecmp(key, "Switches") == 0) return take_once(conf, key, value, &added->children);
  if (strcasecmp(key, "Nodes") == 0) return take_once(conf, key, value, &added->hosts);
  if (strcasecmp(key, "BlockSizes") == 0) return add_block_sizes(conf, value);
  if (strcasecmp(key, "LinkSpeed") == 0) return true;
  static const char *const keys[] = {"SwitchName", "BlockName",  "Switches",
                                     "Nodes",      "BlockSizes", "LinkSpeed"};
  const char *near = nearest_word(key, keys, sizeof keys / sizeof *keys);
  error_at(conf->c, conf->span, "topology-value", "'%.40s' is no key of topology.conf", key);
  if (near)
    fix_last(conf->c, "%s=", near);
  else
    fix_last(conf->c, "remove it: a line reads SwitchName=s1 Nodes=n[1-4]");
  return false;
}

static bool read_line(Conf *conf, char *line) {
  Switch added = {.line = conf->span.line};
  bool has_words = false, is_size = false;
  char *rest = NULL;
  for (char *word = strtok_r(line, " \t\r", &rest); word; word = strtok_r(NULL, " \t\r", &rest)) {
    char *value = strchr(word, '=');
    if (!value) {
      error_at(conf->c, conf->span, "topology-value",
               "'%.40s' is neither Key=Value of Slurm's topology.conf nor XML", word);
      fix_last(conf->c, conf->network->list.count > 0 || has_words
                            ? "no blanks in a value: Nodes=n[1-2],n4"
                            : "a line reads SwitchName=s1 Nodes=n[1-4]");
      return false;
    }
    *value++ = 0;
    size_t length = strlen(value);
    if (length > 1 && value[0] == '"' && value[length - 1] == '"') value[length - 1] = 0, value++;
    has_words = true;
    is_size |= strcasecmp(word, "BlockSizes") == 0;
    if (!take(conf, word, arena_copy(conf->c->arena, value), &added)) return false;
  }
  if (!has_words || (is_size && !added.name)) return true;
  return switches_add(conf->c, conf->span, conf->network, added);
}

static bool refuse_line(const Conf *conf) {
  error_at(conf->c, conf->span, "topology-limit", "a line of more than 64 KiB");
  fix_last(conf->c, "ranges of names, as in Nodes=n[0001-1024], or several switches");
  return false;
}

/* A backslash at the end joins a line and the next. */
static bool next_line(Conf *conf) {
  size_t length = 0;
  conf->span.line = conf->line + 1;
  for (bool is_joined = true; is_joined && *conf->at;) {
    size_t whole = strcspn(conf->at, "\n"), said = strcspn(conf->at, "#\n");
    while (said > 0 && isspace((unsigned char)conf->at[said - 1]))
      said--;
    is_joined = said > 0 && conf->at[said - 1] == '\\';
    if (is_joined) said--;
    if (length + said > LINE_BYTES_MOST) return refuse_line(conf);
    memcpy(conf->joined + length, conf->at, said);
    length += said;
    conf->at += whole + (conf->at[whole] == '\n');
    conf->line++;
  }
  conf->joined[length] = 0;
  return true;
}

bool slurm_conf_read(Compile *c, const char *path, const char *text, SwitchesList *networks) {
  Switches network = {.is_default = true, .line = 1};
  Conf conf = {c, {.file = path}, &network, text, 0, arena_alloc(c->arena, LINE_BYTES_MOST + 1)};
  while (*conf.at)
    if (!next_line(&conf) || !read_line(&conf, conf.joined)) return false;
  if (!switches_finish(c, (Span){.file = path}, &network)) return false;
  VEC_PUSH(c->arena, networks, network);
  return true;
}
