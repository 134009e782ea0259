/* export_config.c -- lockstep export-config: a job as a file of another tool. */
#include <string.h>

#include "compiler/graph/model/model.h"
#include "compiler/job/import/export.h"
#include "compiler/show/cli/cli.h"

/* Sizes as the model file declares them. */
static bool read_model(Compile *c, const Job *job, ExportModel *out) {
  Model *model = model_open(c, job);
  if (!model) return false;
  bool is_llama = model_is_of(model, "llama");
  *out = (ExportModel){
      .family = is_llama                     ? "llama"
                : model_is_of(model, "gpt2") ? "gpt2"
                                             : NULL,
      .layers = model_size(model, "layers", 0),
      .width = model_size(model, "width", 0),
      .heads = model_size(model, "heads", 0),
      .kv_heads = model_size(model, "kv_heads", 0),
      .ffn = model_size(model, "ffn", 0),
      .vocab = model_size(model, "vocab", 0),
      .positions = model_size(model, "positions", 0),
      .rope_base = model_size(model, "rope_base", 0),
      .norm_eps = model_size(model, "norm_eps", 1e-5),
      .dropout = model_size(model, "dropout", 0),
      .is_tied = model_size(model, "tied", 0) != 0,
  };
  model_close(model);
  return !compile_failed(c);
}

static ExitCode answer(Compile *c, const Options *options, const Compiled *compiled) {
  ExportModel model;
  if (!read_model(c, compiled->job, &model)) return report(c, options);
  const ExportAsk ask = {.job = compiled->job,
                         .derived = &compiled->derived,
                         .nodes = compiled->cluster.nodes,
                         .devices = compiled->cluster.devices,
                         .recompute = compiled->recompute.choice,
                         .recompute_blocks = compiled->recompute.group_layers,
                         .model = &model};
  Config *x = export_config(c->arena, &ask, options->to);
  const char *text = export_text(x);
  if (options->out) {
    const ExitCode code = write_answer(c->arena, options, text);
    if (code != EXIT_DONE) return code;
    if (!options->quiet) printf("%-8s %s\n", "wrote", text_plain(c->arena, options->out));
  } else {
    fputs(text, stdout);
  }
  fflush(stdout);
  export_tell(x, stderr);
  return EXIT_DONE;
}

ExitCode verb_export_config(const Options *options) {
  if (!options->to)
    return complain(EXIT_USER, "export-config wants --to TOOL: one of %s", export_tools);
  Compile *c = open_compile();
  if (!c) return EXIT_WORLD;
  Compiled compiled;
  ExitCode code;
  if (!export_takes(options->to))
    code = complain(EXIT_USER, "--to takes one of %s, not '%.40s'", export_tools, options->to);
  else if (compile_job(c, options, &compiled))
    code = answer(c, options, &compiled);
  else
    code = report(c, options);
  compile_free(c);
  return code;
}
