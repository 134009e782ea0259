/* absent.c -- replaces yaml.c in builds without libyaml. */
#include "compiler/job/import/import.h"

bool read_yaml(Import *im, const char *text, size_t size) {
  (void)text, (void)size;
  return error_at(im->c, (Span){.file = im->file}, "import-syntax",
                  "this lockstep was built without libyaml, and reads no YAML");
}
