/* absent.c -- replaces slurm_yaml.c in builds without libyaml. */
#include "compiler/machine/topology/switches.h"

bool slurm_yaml_read(Compile *c, const char *path, const char *text, size_t size_bytes,
                     SwitchesList *networks) {
  (void)text, (void)size_bytes, (void)networks;
  error_at(
      c, (Span){.file = path}, "topology-yaml",
      "this lockstep was built without libyaml, so it reads topology.conf and not topology.yaml");
  fix_last(c, "libyaml-dev and a new build, or the network as topology.conf");
  return false;
}
