/* override.c -- -D section.key=value and -D section=NAME, in the order given. Values arrive as
 * texts and take the type of their key. */
#include <string.h>

#include "compiler/spec/spec_room.h"

static void refuse_form(Compile *c, Span at) {
  error_at(c, at, "override", "expected section.key=value or section=NAME");
  fix_last(c, "-D train.steps=10");
}

static void replace_section(Compile *c, Merged *merged, int32_t section, Value value) {
  if (strcmp(spec_sections[section].head, "none") == 0) {
    if (refuse_later_word(c, value.origin.span, section, value.raw->text)) return;
    error_at(c, value.origin.span, "override", "%s takes no word; name one of its keys",
             spec_sections[section].name);
    fix_last(c, "-D %s.%s=...", spec_sections[section].name,
             section == SECTION_train      ? "steps"
             : section == SECTION_parallel ? "dp"
                                           : "KEY");
    return;
  }
  merged_set_section(c, merged, section, value, NULL);
}

void override_apply(Compile *c, Merged *merged, const char *text) {
  Span at = {.file = arena_printf(c->arena, "-D %s", text_show(c->arena, text))};
  const char *equals = strchr(text, '=');
  if (!equals || equals == text) {
    refuse_form(c, at);
    return;
  }
  const char *name = arena_copy_n(c->arena, text, (size_t)(equals - text));
  const char *dot = strchr(name, '.');
  Value value = {.raw = raw_typed(c->arena, equals + 1),
                 .origin = {ORIGIN_OVERRIDE, at, NULL},
                 .key_span = at,
                 .directory = "."};
  const char *group = dot ? arena_copy_n(c->arena, name, (size_t)(dot - name)) : name;
  int32_t section = dot && strcmp(group, "job") == 0 ? SECTION_job : section_find(group);
  value.key = dot ? dot + 1 : name;
  if (!dot && section < 0 && field_find(SECTION_job, name) >= 0)
    merged_set(c, merged, SECTION_job, value);
  else if (section < 0)
    merged_refuse(c, merged, at, -1, group);
  else if (!dot)
    replace_section(c, merged, section, value);
  else if (section == SECTION_model || field_find((SectionId)section, value.key) >= 0)
    merged_set(c, merged, section, value);
  else
    merged_refuse(c, merged, at, section, value.key);
}
