/* huggingface.h -- private to compiler/graph/model: the table `huggingface` of a model file, the
 * folder that a model or its weights come from, and the tensors of its parameters.
 *
 *   model file                       folder
 *   huggingface.class        <---->  config.json: architectures
 *   huggingface.config       <----   config.json: sizes
 *   names of parameters      <---->  model.safetensors
 */
#ifndef LOCKSTEP_MODEL_HUGGINGFACE_H
#define LOCKSTEP_MODEL_HUGGINGFACE_H

#include <jansson.h>

#include "compiler/graph/model/trace.h"
#include "runtime/weights/weights.h"

/* The value of a size whose key config.json lacks: refused, a number, another size, derived. */
typedef enum Absent { ABSENT_REFUSED, ABSENT_VALUE, ABSENT_SIZE, ABSENT_DERIVED } Absent;

/* layers = "num_hidden_layers", or heads = { "a", "b", absent = 1 }: keys that must be equal. null
 * counts as absent, or, with null = 0, as that value. */
typedef struct ConfigKey {
  const char *size;
  TextList keys;
  Absent absent;
  ModelSize value;         /* of ABSENT_VALUE */
  const char *absent_size; /* of ABSENT_SIZE: as that size */
  bool has_null;
  ModelSize null_value; /* where has_null */
} ConfigKey;

/* A key that must have one value; it also counts as the value of an absent key. */
typedef struct ConfigMust {
  const char *key;
  ModelSize value;
} ConfigMust;

/* A tensor that a file may hold beside the parameter that it is tied to. */
typedef struct TiedTensor {
  const char *tensor, *parameter;
} TiedTensor;

struct HuggingFace {
  const char *path; /* of the model file */
  const char *class, *model_type, *prefix;
  VEC(ConfigKey) config;
  VEC(ConfigMust) must;
  VEC(TiedTensor) tied;
  TextList unused;     /* globs of keys without effect */
  TextList drop;       /* globs of tensors that are no weights */
  TextList transposed; /* ends of names of linear layers that are kept as [in, out] */
};

/* Reads the table at `index` of the Lua stack. NULL: an error was reported. */
HuggingFace *huggingface_read(Model *model, lua_State *L, int index, const char *path);

/* ---- folder.c */
/* Finds the folder of the model and that of its weights. False: an error was reported. */
bool folder_open(Model *model);
/* Reads the headers of its files, after config.json: all that is wrong with both is reported. */
bool folder_open_files(Model *model);
/* The library's model file for the class that config.json names. NULL: reported. */
const char *folder_family(Model *model);
/* The sizes that config.json gives, after its keys are checked. `said`: those of job and presets.
 */
typedef VEC(ModelSize) ModelSizes;
bool folder_sizes(Model *model, const ModelSizes *said, ModelSizes *out);
/* Refuses a preset whose sizes are others than those of config.json. */
bool folder_compare(Model *model);
/* Refuses a folder of another class than the model file's. */
bool folder_check_class(Model *model);
void folder_close(Model *model);

/* ---- saved.c */
/* Finds the newest checkpoint where `weights` is a run or a folder of checkpoints. False: `weights`
 * is none of these. */
bool saved_find_newest(Model *model);
bool saved_open_weights(Model *model);
void saved_close_weights(Model *model);
/* The parameters of the traced model against those of the checkpoint. */
bool saved_check(Trace *t);

/* ---- sources.c */
/* Finds the tensor of each parameter of a traced model. False: an error was reported. */
bool sources_find(Trace *t);

/* ---- config_write.c */
/* config.json of the model as the job has it: as it came, with the sizes that differ. A text that
 * begins with no brace says why there is none. */
const char *config_write(Model *model);

bool matches_any(const TextList *globs, const char *text);

#endif
