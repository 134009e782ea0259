/* data.h -- the data files of a job: read before the model is known, and held against it
 * afterwards.
 */
#ifndef LOCKSTEP_JOB_DATA_H
#define LOCKSTEP_JOB_DATA_H

#include "compiler/job/job.h"

/* data.documents = "apart". */
static inline bool job_is_apart(const Job *job) {
  return job->data.documents == CHOICE_APART;
}
/* data.fill = "pack". */
static inline bool job_is_packed(const Job *job) {
  return job->data.fill == CHOICE_PACK;
}
/* Some targets of training may not count: by a mask, because another document begins, or padding. A
 * use of weights has no data to train on. */
static inline bool job_may_lack_targets(const Job *job) {
  const bool is_cut = job_is_apart(job) || job_is_packed(job);
  return job->is_train_masked || (is_cut && job->data.train.count > 0);
}

/* Looks at the data files: data.train and data.valid become the files themselves, sorted,
 * data.format what their headers say, and tokens are counted. Without it patterns stay as written
 * and data.format may be "auto". */
bool spec_data(Compile *c, Job *job);

/* data.fill = "pack": counts the windows of this many tokens, once the files were read. */
void spec_data_pack(Job *job, int64_t context);

/* For machines that do not have the data: names a format where the headers would have. */
void spec_data_assume(Job *job);

/* An input of the model, as spec_data_inputs needs it. */
typedef struct DataInput {
  const char *name;
  int64_t elements;    /* of a sample */
  bool is_ids;         /* else numbers */
  int64_t vocab;       /* of ids: what the model looks them up in, or its classes; 0: unknown */
  bool is_stream;      /* ids over batch and seq: the tokens, or as targets the next ones */
  const char *feature; /* the dimension after batch when it is the only one, or NULL */
  Span at;
} DataInput;
typedef VEC(DataInput) DataInputs;

/* True if the job's kind of data can fill the model's inputs, and data.columns has as many names as
 * they take, and ids of tables are below what the model takes. has_vocab: the model has a dimension
 * that bounds ids. */
bool spec_data_inputs(Compile *c, const Job *job, const DataInputs *inputs, bool has_vocab);

/* Refuses a width of ids that is too small for the vocabulary. In the files, if spec_data has read
 * them, it looks for ids >= vocab, in large files at a sample of positions (the runtime checks
 * every one it reads), and for marks of another width or byte order. False when reported. */
bool spec_data_ids(Compile *c, const Job *job, int64_t vocab);

/* Refuses .tok files whose ids another tokenizer made than that of the model's folder (NULL or "":
 * unknown), or than that of the files before them. */
bool spec_data_tokenizer(Compile *c, const Job *job, const char *folder);

#endif
