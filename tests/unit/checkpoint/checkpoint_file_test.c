/* Checkpoints: what is saved comes back; damage, other models and other formats are refused.
 * LINK: runtime plan_builder */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/check.h"
#include "tests/unit/checkpoint_set.h"
#include "tests/unit/plan_builder.h"

static char folder[64], path[256], skipped_text[STATUS_TEXT_BYTES];
static int32_t skipped_count;
static PlanBuilder builder;
static const uint64_t data_sum = 77;
static const CheckpointChanges no_changes;

static void set_setting(SettingEffect effect, const char *key, const char *value,
                        const char *origin);

/* `ranks`: so many have the same state, in parts of 256 bytes or more. */
static Plan example_of(uint32_t layers, uint32_t ranks) {
  build_free(&builder);
  memset(&builder, 0, sizeof builder);
  build_example(&builder, (ExampleOptions){layers, 1, 1, 1, false});
  build_word(&builder, JOB_checkpoint_dir, folder);
  *build_count(&builder, JOB_checkpoint_keep) = 2;
  builder.axes[0].size = builder.classes[0].rank_count = builder.bounds[0].end = ranks;
  build_strides(&builder);
  set_setting(SETTING_SAFE, STATE_PART_KEY, "256 B", "job: a.lua:1:1");
  return build_view(&builder);
}

static Plan example(uint32_t layers) {
  return example_of(layers, 1);
}

static const char *step_path(int step) {
  (void)snprintf(path, sizeof path, "%.64s/step_%08d", folder, step);
  return path;
}

static const char *file_path(int step, const char *name) {
  (void)snprintf(path, sizeof path, "%.64s/step_%08d/%.40s", folder, step, name);
  return path;
}

static const char *part_path(int step, int number) {
  char name[PART_FILE_NAME_BYTES];
  part_file_name(name, number);
  return file_path(step, name);
}

static void remove_step(int step) {
  CHECK(checkpoint_remove_folder(step_path(step)));
}

static uint8_t *filled_arena(const Plan *plan, int seed) {
  uint64_t bytes = plan_arena_bytes(plan, &plan->classes[0], TIER_DEVICE);
  uint8_t *arena = malloc(bytes + 1); /* not nothing, for an empty one */
  for (uint64_t i = 0; i < bytes; i++)
    arena[i] = (uint8_t)(i * 31 + (uint64_t)seed + i / 256);
  return arena;
}

static void save_as(const Plan *plan, int step, bool publish) {
  Status status = {0};
  uint8_t *arena = filled_arena(plan, step);
  SetSave save = {
      .plan = plan, .arena = arena, .step = step, .data_sum = data_sum, .publish = publish};
  CHECK(set_save(save, &status));
  CHECK_TEXT(status.text, "");
  free(arena);
}

static void save_step(const Plan *plan, int step) {
  save_as(plan, step, true);
}

/* True if a rank's state is that of a step. */
static bool is_state_of(const Plan *plan, const uint8_t *got, int step) {
  const PlanClass *class = &plan->classes[0];
  uint8_t *want = filled_arena(plan, step);
  bool same = true;
  for (uint32_t i = 0; i < class->tensors_count; i++) {
    const PlanTensor *tensor = &plan->tensors[class->tensors_first + i];
    for (uint32_t layer = 0; state_kind_of(tensor->kind) && layer < tensor->layer_count; layer++) {
      uint64_t at = tensor->offset + layer * tensor->layer_stride;
      same = same && memcmp(got + at, want + at, tensor->size_bytes) == 0;
    }
  }
  free(want);
  return same;
}

static void note_skipped(const char *why) {
  skipped_count++;
  (void)snprintf(skipped_text, sizeof skipped_text, "%s", why);
}

static void test_round_trip(void) {
  Plan plan = example(3);
  CheckpointSet checkpoint;
  Status status = {0};
  TEST("what is saved comes back") {
    save_step(&plan, 7);
    CHECK(set_open(&checkpoint, step_path(7), &plan, &status));
    const Manifest *manifest = &checkpoint.at[0].manifest;
    CHECK_INT(manifest->facts.step, 7);
    CHECK_INT(manifest->facts.samples, 70);
    CHECK_INT(manifest->facts.lasting.updates, 6);
    CHECK_INT(manifest->state.item_count, 3 * (1 + 3));
    CHECK(checkpoint_match(&checkpoint.at[0], &plan, &no_changes, &status));
    uint8_t *arena = filled_arena(&plan, 99);
    CHECK(!is_state_of(&plan, arena, 7));
    CHECK(set_restore(&checkpoint, &arena, &plan, &status));
    CHECK(is_state_of(&plan, arena, 7));
    CHECK(set_compare(&checkpoint, &arena, &plan, true, &status));
    const PlanTensor *saved = plan.tensors;
    while (state_kind_of(saved->kind) == NULL)
      saved++;
    arena[saved->offset + 8] ^= 1;
    CHECK(!set_compare(&checkpoint, &arena, &plan, true, &status));
    CHECK_INT(checkpoint.fault, CHECKPOINT_DAMAGED);
    CHECK(strstr(status.text, "differs from memory, first at element 2 of rank 0's part"));
    CHECK(!is_state_of(&plan, arena, 7)); /* comparing writes nothing */
    free(arena);
    set_close(&checkpoint);
  }
  TEST("only the newest are kept, and nothing else is left") {
    save_step(&plan, 8);
    save_step(&plan, 9);
    CHECK(access(step_path(7), F_OK) != 0);
    CHECK(access(step_path(8), F_OK) == 0 && access(step_path(9), F_OK) == 0);
    char old[512];
    (void)snprintf(old, sizeof old, "%s.old", step_path(7));
    CHECK(access(old, F_OK) != 0);
  }
}

/* Four ranks with the same state divide the writing of it. */
static void test_parts(void) {
  Plan plan = example_of(3, 4);
  CheckpointSet set;
  Status status = {0};
  TEST("ranks with the same state divide it, and each gets all of it back") {
    save_step(&plan, 21);
    for (int number = 0; number < 4; number++)
      CHECK(access(part_path(21, number), F_OK) == 0);
    CHECK(set_open(&set, step_path(21), &plan, &status));
    CHECK_INT(set.at[3].manifest.part_count, 4);
    uint8_t *arena[4];
    for (int rank = 0; rank < 4; rank++)
      arena[rank] = filled_arena(&plan, 99);
    CHECK(set_restore(&set, arena, &plan, &status));
    for (int rank = 0; rank < 4; rank++)
      CHECK(is_state_of(&plan, arena[rank], 21));
    /* Damage that is found while it is loaded is damage for every rank. */
    damage(part_path(21, 2), 4096 + 100);
    CHECK(!set_restore(&set, arena, &plan, &status));
    CHECK_INT(set.fault, CHECKPOINT_DAMAGED);
    CHECK(strstr(status.text, "part-00002.safetensors: bytes 0 to"));
    damage(part_path(21, 2), 4096 + 100); /* as it was */
    for (int rank = 0; rank < 4; rank++)
      free(arena[rank]);
    set_close(&set);
  }
  TEST("a save without its name is none") {
    save_as(&plan, 24, false); /* rank 0 was lost before it could give the name */
    skipped_count = 0;
    CHECK(set_open_newest(&set, folder, &plan, note_skipped, &status));
    CHECK_INT(set.at[0].manifest.facts.step, 21);
    CHECK_INT(skipped_count, 0);
    set_close(&set);
  }
  TEST("a checkpoint counts only with all its parts, whole and of one save") {
    char other[sizeof path];
    save_step(&plan, 22);
    damage(part_path(22, 3), -1);
    skipped_count = 0;
    CHECK(set_open_newest(&set, folder, &plan, note_skipped, &status));
    CHECK_INT(set.at[0].manifest.facts.step, 21);
    CHECK(skipped_count == 1 && strstr(skipped_text, "part-00003.safetensors"));
    set_close(&set);
    (void)snprintf(other, sizeof other, "%s", part_path(21, 3));
    CHECK(rename(other, part_path(22, 3)) == 0);
    CHECK(!set_open(&set, step_path(22), &plan, &status));
    CHECK(strstr(status.text, "part-00003.safetensors: "));
    CHECK(!set_open(&set, step_path(21), &plan, &status));
    CHECK(strstr(status.text, "part-00003.safetensors: cannot be read"));
    remove_step(21), remove_step(22);
  }
}

static void test_mismatch(void) {
  CheckpointSet checkpoint;
  Status status = {0};
  TEST("another model and another size are refused by name") {
    Plan plan = example(2);
    CHECK(set_open(&checkpoint, step_path(9), &plan, &status));
    CHECK(!checkpoint_match(&checkpoint.at[0], &plan, &no_changes, &status));
    CHECK(strstr(status.text, "of tensor h.2.w, which the plan lacks"));
    plan = example(4);
    CHECK(!checkpoint_match(&checkpoint.at[0], &plan, &no_changes, &status));
    CHECK(strstr(status.text, "lacks") && strstr(status.text, "h.3.w, which the plan has"));
    plan = example(3);
    uint32_t layout = builder.tensors[3].layout;
    builder.layout_dims[builder.layouts[layout].dims_first].real_size--;
    plan = build_view(&builder);
    CHECK(!checkpoint_match(&checkpoint.at[0], &plan, &no_changes, &status));
    CHECK(strstr(status.text, "elements there,"));
    set_close(&checkpoint);
  }
}

static void test_damage(void) {
  Plan plan = example(3);
  CheckpointSet checkpoint;
  Status status = {0};
  static const char *const files[] = {MANIFEST_FILE, "part-00000.safetensors"};
  TEST("one damaged bit anywhere is seen") {
    remove_step(9);
    static const long places[] = {0, 3, 8, 30, 100, 600, 1500, 4095, 4096, 5000, -25, -9, -1};
    for (size_t i = 0; i < 2 * sizeof places / sizeof *places; i++) {
      save_step(&plan, 9);
      if (i / 2 != 11 || i % 2 != 0) damage(file_path(9, files[i % 2]), places[i / 2]);
      bool opened = set_open(&checkpoint, step_path(9), &plan, &status);
      bool untouched = i / 2 == 11 && i % 2 == 0;
      if (opened != untouched) printf("damage at %ld of %s\n", places[i / 2], files[i % 2]);
      CHECK(opened == untouched);
      CHECK(opened || (strstr(status.text, "step_00000009/") && !strchr(status.text, '\n')));
      set_close(&checkpoint);
      remove_step(9);
    }
  }
  TEST("a damaged or cut checkpoint is skipped, with a line, for the one before") {
    save_step(&plan, 9);
    damage(file_path(9, MANIFEST_FILE), 50);
    skipped_count = 0;
    CHECK(set_open_newest(&checkpoint, folder, &plan, note_skipped, &status));
    CHECK_INT(checkpoint.at[0].manifest.facts.step, 8);
    CHECK_INT(skipped_count, 1);
    CHECK(strstr(skipped_text, "is damaged"));
    set_close(&checkpoint);
    CHECK_INT(truncate(part_path(8, 0), 500), 0);
    CHECK(!set_open(&checkpoint, step_path(8), &plan, &status));
    CHECK(strstr(status.text, "has 500 of"));
    status.code = 5;
    CHECK(!set_open_newest(&checkpoint, folder, &plan, note_skipped, &status));
    CHECK_INT(status.code, 0);
    remove_step(9), remove_step(8);
  }
}

/* Replaces a text of a manifest and signs it again, as a forger would. */
static bool forge(int step, const char *from, const char *to) {
  static char text[1 << 16], made[1 << 16];
  char why[MANIFEST_WHY_BYTES];
  Manifest manifest;
  FILE *file = fopen(file_path(step, MANIFEST_FILE), "rb");
  size_t bytes = file ? fread(text, 1, sizeof text - 1, file) : 0;
  if (!file || fclose(file) != 0) abort();
  text[bytes] = '\0';
  char *at = strstr(text, from);
  if (at == NULL) abort();
  int used = snprintf(made, sizeof made, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  char *digits = made + used - 19, sum[17];
  memset(digits, '0', 16);
  (void)snprintf(sum, sizeof sum, "%016llx", (unsigned long long)part_sum(made, (size_t)used));
  memcpy(digits, sum, 16);
  ManifestFault fault = manifest_read(&manifest, made, (size_t)used, why);
  manifest_close(&manifest);
  return fault == MANIFEST_WHOLE;
}

static void test_forged(void) {
  Plan plan = example_of(3, 4);
  TEST("a manifest that is signed and wrong is refused") {
    static const char *const wrong[][2] = {
        {"\"bounds\":[[0,4]]", "\"bounds\":[[0,5]]"},
        {"\"bounds\":[[0,4]]", "\"bounds\":[[2,2]]"},
        {"\"bounds\":[[0,4]]", "\"bounds\":[]"},
        {",4]]", ",1048577]]"},
        {"\"flat_axes\":0", "\"flat_axes\":2"},
        {"\"piece\":0", "\"piece\":-1"},
        {"\"F32\"", "\"F33\""},
        {"\"param\"", "\"weight\""},
        {"\"part_bytes\":256", "\"part_bytes\":0"},
        {"\"step\":40", "\"step\":-40"},
        {"\"step\":40", "\"step\":9223372036854775807"},
        {"\"version\":5", "\"version\":6"},
        {"\"version\":5", "\"version\":5,\"version\":5"},
        {"\"format\":\"lockstep\"", "\"format\":\"else\""},
        {"\"parts\":[", "\"parts\":[[7,1,\"0\"],"},
        {"\"control\":{", "\"control\":[{},"},
    };
    save_step(&plan, 40);
    CHECK(forge(40, "\"step\":40", "\"step\":41"));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
      bool taken = forge(40, wrong[i][0], wrong[i][1]);
      if (taken) printf("taken: %s\n", wrong[i][1]);
      CHECK(!taken);
    }
    remove_step(40);
  }
}

static void write_old(const char *name, uint32_t version) {
  (void)snprintf(path, sizeof path, "%.64s/%.40s", folder, name);
  FILE *file = fopen(path, "wb");
  if (!file || fwrite("LSTEPCKP", 8, 1, file) != 1 ||
      fwrite(&version, sizeof version, 1, file) != 1 || fclose(file) != 0)
    abort();
}

static void test_unread(void) {
  Plan plan = example(3);
  CheckpointSet set;
  Status status = {0};
  TEST("what cannot be read is not taken for damaged: no older one replaces it") {
    save_step(&plan, 50);
    save_step(&plan, 51);
    CHECK(unlink(file_path(51, MANIFEST_FILE)) == 0 && mkdir(path, 0777) == 0);
    skipped_count = 0;
    CHECK(!set_open_newest(&set, folder, &plan, note_skipped, &status));
    CHECK_INT(status.code, STATUS_WORLD);
    CHECK_INT(set.fault, CHECKPOINT_UNREAD);
    CHECK_INT(skipped_count, 0);
    CHECK(strstr(status.text, "step_00000051/manifest.json: cannot be read: Is a directory"));
    CHECK_INT(rmdir(file_path(51, MANIFEST_FILE)), 0);
    remove_step(51);
  }
  TEST("a directory that cannot be read is not an empty one") {
    CHECK(!set_open_newest(&set, file_path(50, MANIFEST_FILE), &plan, note_skipped, &status));
    CHECK_INT(status.code, STATUS_WORLD);
    CHECK(!checkpoint_set_aside(file_path(50, MANIFEST_FILE), 1, &(CheckpointAside){0}, &status));
    CHECK_INT(status.code, STATUS_WORLD);
  }
  TEST("a checkpoint of an earlier format is refused in a line, and not skipped") {
    write_old("step_00000052.ckpt", 4);
    skipped_count = 0;
    CHECK(!set_open_newest(&set, folder, &plan, note_skipped, &status));
    CHECK_INT(status.code, STATUS_USER);
    CHECK_INT(skipped_count, 0);
    CHECK(strstr(status.text, "has checkpoint format 4, this program reads 5"));
    CHECK_INT(unlink(path), 0);
  }
  TEST("a file or another folder in place of a checkpoint is told what to name") {
    CHECK(!set_open(&set, file_path(50, MANIFEST_FILE), &plan, &status));
    CHECK(strstr(status.text, "is a file, not a checkpoint: name one of the folders"));
    CHECK(!set_open(&set, folder, &plan, &status));
    CHECK(strstr(status.text, "is a folder without manifest.json, not a checkpoint"));
    remove_step(50);
  }
}

static void set_setting(SettingEffect effect, const char *key, const char *value,
                        const char *origin) {
  const uint32_t at = build_string(&builder, key), text = build_string(&builder, value);
  PlanSetting setting = {.effect = effect, .kind = SETTING_TEXT, .key = at, .text = text};
  setting.origin = build_string(&builder, origin);
  for (uint32_t i = 0; i < builder.settings_count; i++)
    if (strcmp(builder.strings + builder.settings[i].key, key) == 0) {
      if (builder.settings[i].effect != SETTING_SAFE) setting.effect = builder.settings[i].effect;
      builder.settings[i] = setting;
      return;
    }
  build_settings(&builder, setting);
}

/* A job with one key of each effect. */
static void set_settings(void) {
  set_setting(SETTING_EXPERIMENT, "train.seed", "1", "default");
  set_setting(SETTING_EXPERIMENT, "train.context", "256", "derived: model.positions");
  set_setting(SETTING_EXPERIMENT, PLAN_DATA_KEY, "a.u8", "job: a.lua:1:1");
  set_setting(SETTING_MODEL, "model", "gpt2", "job: a.lua:2:1");
  set_setting(SETTING_EXPERIMENT, PLAN_GRAPH_KEY, "1234", "derived: hash");
  set_setting(SETTING_SCHEDULE, "optimizer.lr", "0.001", "job: a.lua:3:1");
  set_setting(SETTING_LAYOUT, "parallel.zero", "1", "default");
  set_setting(SETTING_SAFE, "log.every", "10", "default");
}

/* What differs from the checkpoint of step 60 when `key` is `value`; "" when it is as it was. */
static const char *changed(const char *key, const char *value, const char *origin, uint64_t data) {
  static char text[512];
  CheckpointSet set;
  CheckpointChanges changes;
  Status status = {0};
  Plan plan = example(3);
  set_settings();
  if (key) set_setting(SETTING_EXPERIMENT, key, value, origin);
  plan = build_view(&builder);
  CHECK(set_open(&set, step_path(60), &plan, &status));
  CHECK(checkpoint_changes(&set.at[0], &plan, data, &changes, &status));
  (void)checkpoint_changes_text(&changes, ~0u, false, text, sizeof text);
  checkpoint_changes_free(&changes);
  set_close(&set);
  return text;
}

static void test_changes(void) {
  Plan plan = example(3);
  set_settings();
  plan = build_view(&builder);
  save_step(&plan, 60);
  TEST("what differs is told by key, and what follows from other keys is not") {
    CHECK_TEXT(changed(NULL, NULL, NULL, data_sum), "");
    CHECK_TEXT(changed("train.seed", "2", "-D train.seed=2", data_sum), "train.seed 1 -> 2");
    CHECK_TEXT(changed("new.key", "3", "default", data_sum), "");
    CHECK_TEXT(changed("new.key", "3", "-D new.key=3", data_sum), "new.key none -> 3");
  }
  TEST("a derived value without a cause among the keys is told itself") {
    CHECK_TEXT(changed("train.context", "512", "derived: model.positions", data_sum),
               "train.context 256 -> 512");
  }
  TEST("data are what they hold, models what they compute") {
    CHECK_TEXT(changed(PLAN_DATA_KEY, "b.u8", "-D", data_sum), "");
    CHECK_TEXT(changed(PLAN_DATA_KEY, "b.u8", "-D", 78), "data.train a.u8 -> b.u8");
    CHECK_TEXT(changed(NULL, NULL, NULL, 78), "data.train a.u8 -> other content");
    CHECK_TEXT(changed("model", "./mine.lua", "-D", data_sum), "");
    CHECK_TEXT(changed(PLAN_GRAPH_KEY, "99", "derived: hash", data_sum),
               "the model file (what it computes differs)");
  }
  TEST("a list that is too long says how much is missing") {
    char text[64];
    CheckpointChange many[40];
    for (int i = 0; i < 40; i++)
      many[i] = (CheckpointChange){"train.seed", "1", "2", SETTING_EXPERIMENT, false};
    CheckpointChanges changes = {.at = many, .count = 40};
    CHECK_INT(checkpoint_changes_text(&changes, ~0u, false, text, sizeof text), 40);
    CHECK_TEXT(text, "train.seed 1 -> 2, train.seed 1 -> 2, and 38 more");
  }
  remove_step(60);
}

static bool is_there(const char *name) {
  (void)snprintf(path, sizeof path, "%.64s/%s", folder, name);
  return access(path, F_OK) == 0;
}

static void make_empty(const char *name) {
  (void)snprintf(path, sizeof path, "%.64s/%s", folder, name);
  FILE *file = fopen(path, "w");
  CHECK(file && fclose(file) == 0);
}

static void make_folder(const char *name) {
  (void)snprintf(path, sizeof path, "%.64s/%s", folder, name);
  CHECK(mkdir(path, 0777) == 0);
}

static void test_aside(void) {
  Plan plan = example(3);
  CheckpointAside aside;
  Status status = {0};
  TEST("checkpoints of steps that will be written anew are moved, earlier ones stay") {
    save_step(&plan, 11);
    save_step(&plan, 12);
    make_empty("step_00000012.ckpt"); /* of an earlier format */
    make_empty("step_00000012.ckpt.r00001");
    CHECK(checkpoint_set_aside(folder, 12, &aside, &status));
    CHECK_INT(aside.count, 2);
    CHECK(is_there("step_00000011/manifest.json") && !is_there("step_00000012"));
    CHECK(is_there("earlier.1/step_00000012/manifest.json"));
    CHECK(is_there("earlier.1/step_00000012.ckpt.r00001"));
    CHECK(checkpoint_set_aside(folder, 12, &aside, &status));
    CHECK_INT(aside.count, 0);
  }
  TEST("what an interrupted save has left is removed, whole checkpoints stay") {
    make_folder("step_00000013.2.new");
    make_empty("step_00000013.2.new/part-00000.safetensors");
    make_folder("step_00000010.old");
    make_empty("step_00000010.old/part-00000.safetensors");
    make_empty("notes.new"); /* not ours */
    CHECK(checkpoint_set_aside(folder, 12, &aside, &status));
    CHECK_INT(aside.count, 0);
    CHECK(is_there("step_00000011") && is_there("notes.new"));
    CHECK(!is_there("step_00000013.2.new") && !is_there("step_00000010.old"));
    remove_step(11);
  }
  TEST("of the folders earlier.N the newest stay, and numbers go on") {
    for (int i = 0; i < 4; i++) {
      save_step(&plan, 12);
      CHECK(checkpoint_set_aside(folder, 1, &aside, &status));
      CHECK_INT(aside.removed, i + 1 < CHECKPOINT_EARLIER_KEEP ? 0 : 1);
    }
    CHECK(!is_there("earlier.1") && !is_there("earlier.2"));
    CHECK(is_there("earlier.3/step_00000012") && is_there("earlier.5/step_00000012"));
  }
  TEST("a folder earlier.N with a file of somebody else is not removed") {
    make_empty("earlier.3/mine");
    save_step(&plan, 12);
    CHECK(checkpoint_set_aside(folder, 1, &aside, &status));
    CHECK_INT(aside.removed, 0);
    CHECK(is_there("earlier.3/mine") && is_there("earlier.6/step_00000012"));
  }
}

static void test_owner(void) {
  int64_t first = 0, second = 0;
  Status status = {0};
  TEST("a run that another start has taken over gives its save no name") {
    CHECK(owner_take(folder, &first, &status) && owner_take(folder, &second, &status));
    CHECK_INT(second, first + 1);
    CHECK(owner_is(folder, second, &status));
    CHECK(!owner_is(folder, first, &status));
    CHECK_INT(status.code, STATUS_WORLD);
    CHECK(strstr(status.text, "has taken over the checkpoints of start"));
  }
}

int main(void) {
  (void)snprintf(folder, sizeof folder, "/tmp/lockstep_checkpoint_%d", (int)getpid());
  test_round_trip();
  test_mismatch();
  test_damage();
  test_parts();
  test_forged();
  test_unread();
  test_changes();
  test_aside();
  test_owner();
  build_free(&builder);
  char command[128];
  (void)snprintf(command, sizeof command, "rm -r %s", folder);
  CHECK_INT(system(command), 0);
  CHECK_DONE();
}
