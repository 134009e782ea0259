/* topology.c -- lockstep topology: draws a machine or a network from its description; gathers this
 * machine's description; checks this machine against one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/machine/topology/picture.h"
#include "compiler/machine/topology/read.h"
#include "compiler/show/cli/cli.h"

/* A file that is written whole or not at all. */
typedef struct Written {
  Arena *arena;
  const char *beside, *path;
  FILE *out;
} Written;

static ExitCode refuse_path(const Written *w) {
  return cannot_write(w->path, errno);
}

static ExitCode open_written(Written *w, const char *path) {
  w->arena = arena_new();
  w->path = path;
  w->beside = file_beside(w->arena, path);
  w->out = fopen(w->beside, "w");
  if (w->out) return EXIT_DONE;
  ExitCode code = refuse_path(w);
  arena_free(w->arena);
  return code;
}

static ExitCode close_written(Written *w, bool quiet) {
  bool is_good = !ferror(w->out);
  is_good = fclose(w->out) == 0 && is_good;
  is_good = is_good && rename(w->beside, w->path) == 0;
  if (!is_good) {
    refuse_path(w);
    file_forget(w->beside, w->path);
  }
  arena_free(w->arena);
  if (!is_good) return EXIT_WORLD;
  fflush(stdout);
  if (!quiet) fprintf(stderr, "wrote    %s\n", w->path);
  return EXIT_DONE;
}

static ExitCode gather(Compile *c, const Options *options) {
  if (options->words.count > 1)
    return complain(EXIT_USER, "topology gather takes no file; -o FILE says where it goes");
  if (options->svg || options->json)
    return complain(EXIT_USER, "topology gather writes XML: no --svg, no --json");
  if (!say_environment(c)) return EXIT_WORLD;
  const char *text = topology_gather(c);
  if (!text) return EXIT_WORLD;
  if (!options->out) {
    fputs(text, stdout);
    return EXIT_DONE;
  }
  Written w;
  ExitCode code = open_written(&w, options->out);
  if (code != EXIT_DONE) return code;
  fputs(text, w.out);
  return close_written(&w, options->quiet);
}

static void print_differences(const Differences *found, const Options *options) {
  if (options->json) {
    printf("{\"version\": 1, \"ok\": %s, \"differences\": [", found->list.count ? "false" : "true");
    for (int32_t i = 0; i < found->list.count; i++) {
      fputs(i > 0 ? ", " : "", stdout);
      print_json_text(found->list.at[i], stdout);
    }
    puts("]}");
    return;
  }
  for (int32_t i = 0; i < found->list.count; i++)
    print_wrapped(stdout, found->list.at[i], 0, 4, COLUMNS_MOST);
  if (found->list.count == 0 && !options->quiet) puts("this machine is as described");
}

static ExitCode check(Compile *c, const Options *options) {
  if (options->words.count != 2)
    return complain(EXIT_USER, "topology check takes one file: lockstep topology check node.xml");
  if (options->svg || options->out)
    return complain(EXIT_USER, "topology check takes no --svg and no -o");
  Topology wanted;
  if (!topology_read(c, options->words.at[1], &wanted)) return EXIT_USER;
  if (!wanted.node)
    return complain(EXIT_USER, "%s describes a network; check compares machines", wanted.path);
  if (!say_environment(c)) return EXIT_WORLD;
  const HostNode *here = topology_of_this_machine(c);
  if (!here) return EXIT_WORLD;
  Differences found = node_compare(c->arena, wanted.node, here);
  print_differences(&found, options);
  return found.list.count > 0 ? EXIT_USER : EXIT_DONE;
}

static bool is_here(const Topology *at) {
  return strcmp(at->path, "here") == 0;
}

static void print_text(Compile *c, const Topology *at) {
  if (at->node) node_print(c->arena, at->node, stdout);
  if (is_here(at)) print_gpus(c->arena);
  for (int32_t i = 0; i < at->networks.count; i++) {
    if (i > 0) putchar('\n');
    switches_print(c->arena, &at->networks.at[i], stdout);
  }
}

static void print_json(Compile *c, const Topology *all, int32_t count) {
  fputs("{\"version\": 1, \"files\": [", stdout);
  for (int32_t i = 0; i < count; i++) {
    printf("%s\n {\"file\": ", i > 0 ? "," : "");
    print_json_text(all[i].path, stdout);
    if (all[i].node) {
      fputs(", \"node\": ", stdout);
      node_json(c->arena, all[i].node, stdout);
    }
    fputs(", \"networks\": [", stdout);
    for (int32_t n = 0; n < all[i].networks.count; n++) {
      fputs(n > 0 ? ", " : "", stdout);
      switches_json(&all[i].networks.at[n], stdout);
    }
    fputs("]}", stdout);
  }
  puts("]}");
}

static ExitCode draw(Compile *c, const Options *options, const Topology *all, int32_t count) {
  if (count != 1 || !all->node)
    return complain(EXIT_USER, "--svg draws one machine: give one file that describes one");
  Written w;
  ExitCode code = open_written(&w, options->svg);
  if (code != EXIT_DONE) return code;
  node_svg(c->arena, all->node, w.out);
  return close_written(&w, options->quiet);
}

/* "here" is this machine; a file of that name is ./here. */
static bool read_one(Compile *c, const char *word, Topology *topology) {
  if (strcmp(word, "here") != 0) return topology_read(c, word, topology);
  if (!say_environment(c)) return false;
  *topology = (Topology){.path = "here", .node = topology_of_this_machine(c)};
  return topology->node != NULL;
}

static ExitCode show(Compile *c, const Options *options) {
  if (options->out)
    return complain(EXIT_USER, "-o is where topology gather writes; --svg FILE draws");
  int32_t count = options->words.count;
  Topology *all = ARENA_ARRAY(c->arena, Topology, count);
  bool is_good = true;
  for (int32_t i = 0; i < count; i++)
    is_good = read_one(c, options->words.at[i], &all[i]) && is_good;
  if (!is_good) return EXIT_USER;
  if (options->json) {
    print_json(c, all, count);
  } else if (!options->quiet) {
    for (int32_t i = 0; i < count; i++) {
      if (count > 1) printf("%s== %s\n", i > 0 ? "\n" : "", text_plain(c->arena, all[i].path));
      print_text(c, &all[i]);
    }
  }
  return options->svg ? draw(c, options, all, count) : EXIT_DONE;
}

/* Without a word, this machine. */
ExitCode verb_topology(const Options *options) {
  Compile *c = compile_new("");
  Options spoken = *options;
  if (spoken.words.count == 0) spoken.words.at[spoken.words.count++] = "here";
  const char *word = spoken.words.at[0];
  ExitCode code = strcmp(word, "gather") == 0  ? gather(c, options)
                  : strcmp(word, "check") == 0 ? check(c, options)
                                               : show(c, &spoken);
  spoken.quiet = false;
  if (compile_failed(c)) {
    ExitCode said = report(c, &spoken);
    if (code == EXIT_DONE) code = said;
  }
  compile_free(c);
  return code;
}
