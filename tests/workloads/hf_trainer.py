"""The transformers Trainer with bf16=True: regions, accumulation and clipping are its own."""

import tempfile

import torch
import workload
from transformers import GPT2Config, GPT2LMHeadModel, PrinterCallback, Trainer, TrainingArguments

workload.start()


class Words(torch.utils.data.Dataset):
    rows = list(workload.token_batches(16, batch=1))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return {"input_ids": self.rows[index][0], "labels": self.rows[index][0]}


model = GPT2LMHeadModel(GPT2Config(vocab_size=99, n_positions=32, n_embd=32, n_layer=2, n_head=4))
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(output_dir=folder, use_cpu=True, bf16=True, max_steps=4, report_to=[], seed=1,
                                  per_device_train_batch_size=2, gradient_accumulation_steps=2, logging_steps=1,
                                  save_strategy="no", eval_strategy="steps", eval_steps=2, disable_tqdm=True)
    trainer = Trainer(model, arguments, train_dataset=Words(), eval_dataset=Words())
    trainer.remove_callback(PrinterCallback)  # prints how long it took
    trainer.train()
for entry in trainer.state.log_history:
    for key in ("loss", "eval_loss"):
        if key in entry:
            workload.say_loss(entry[key])
workload.finish(model)
