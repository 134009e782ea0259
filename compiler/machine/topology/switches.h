/* switches.h -- how nodes hang together, as Slurm's topology files say: a tree of switches, or
 * blocks. */
#ifndef LOCKSTEP_SWITCHES_H
#define LOCKSTEP_SWITCHES_H

#include "compiler/base/base.h"

enum { HOSTS_MOST = 65536, SWITCHES_MOST = 16384 };

typedef enum NetworkKind {
  NETWORK_TREE,
  NETWORK_BLOCK,
  NETWORK_FLAT,
  NETWORK_RING,
  NETWORK_TORUS
} NetworkKind;

/* A switch of a tree, a block, a ring or a torus. */
typedef struct Switch {
  const char *name;
  int32_t line;
  int32_t parent;      /* -1: at the top */
  int32_t level;       /* 0: a leaf, whose ports are nodes; else one above its highest child */
  int32_t host_count;  /* hosts at this switch itself */
  int32_t total_hosts; /* with all below */
  int32_t child_count;
  const char *hosts;    /* as the file lists its own: "node[01-04]"; NULL: none */
  const char *children; /* likewise its switches */
  int32_t dims[3];      /* of a torus */
} Switch;

typedef struct Switches {
  NetworkKind kind;
  const char *name; /* of a topology of topology.yaml, or NULL */
  bool is_default;  /* topology.yaml: cluster_default */
  bool has_all;     /* its one leaf switch has all nodes, by the word ALL: the file names none */
  int32_t line;
  VEC(Switch) list;
  VEC(const char *) hosts;  /* all, in the order of the file */
  VEC(int32_t) host_switch; /* of each host */
  VEC(int64_t) block_sizes; /* ascending; the base block first */
} Switches;

typedef struct SwitchesList {
  Switches *at;
  int32_t count, capacity;
} SwitchesList;

/* The two readers. */
bool slurm_conf_read(Compile *c, const char *path, const char *text, SwitchesList *networks);
bool slurm_yaml_read(Compile *c, const char *path, const char *text, size_t size_bytes,
                     SwitchesList *networks);

/* ---- for the readers */

/* A host list, "n[01-04,7],login" or "rack[0-1]n[0-3]", as names. False: reported. */
typedef struct Names {
  VEC(const char *) list;
} Names;
bool hostlist_expand(Compile *c, Span span, const char *text, int32_t most, Names *names);

/* Adds a switch with what is written beside its name; checks that the name is new. */
bool switches_add(Compile *c, Span span, Switches *network, Switch added);

/* Expands lists, ties children to parents, finds levels: refuses cycles, two parents,
 * repeated hosts. */
bool switches_finish(Compile *c, Span span, Switches *network);

/* The picture of a network: one line a switch, levels indented; at most `lines` of it. */
void switches_print(Arena *arena, const Switches *network, FILE *out);
void switches_json(const Switches *network, FILE *out);

const char *network_kind_name(NetworkKind kind);

#endif
