"""Tables of the names of classes, roles and keys in evaluation prompts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from promptls.dialects import KeyFact, optional, required_key, table

INFERENCERS: Mapping[str, str] = {
    "GenInferencer": "The model writes the answer.",
    "PPLInferencer": "One prompt per label. The one with the lowest perplexity wins.",
    "CLPInferencer": "The label with the highest conditional log probability wins.",
    "LLInferencer": "The label with the highest log likelihood wins.",
    "ChatInferencer": "The model answers a conversation of several turns.",
}
"""Values of an inferencer's `type`, with descriptions."""

LABEL_INFERENCERS: frozenset[str] = frozenset({"PPLInferencer", "LLInferencer"})
"""Inferencers that score one prompt for each label."""

CHAT_INFERENCERS: frozenset[str] = frozenset({"ChatInferencer", "AgentInferencer", "ChatMLInferencer"})
"""Inferencers that send the turns of a chat in a column, without in-context examples."""

MORE_INFERENCERS: frozenset[str] = frozenset(
    {
        "AgentInferencer", "AttackInferencer", "ChatMLInferencer", "GLMChoiceInferencer",
        "InferencePPLOnlyInferencer", "MinKPercentInferencer", "ParallelGenInferencer", "PPLOnlyInferencer",
        "SCInferencer", "SWCELossInferencer", "ToTInferencer",
    }
)  # fmt: skip
"""Inferencers for special purposes."""

EVALUATORS: frozenset[str] = frozenset(
    {
        "AUCROCEvaluator", "AccContaminationEvaluator", "AccEvaluator", "AccwithDetailsEvaluator",
        "AverageInferencePPLEvaluator", "AverageMinKEvaluator", "AveragePPLEvaluator", "BPCEvaluator",
        "BaseEvaluator", "BleuEvaluator", "BleuFloresEvaluator", "CircularEvaluator", "EDAccEvaluator",
        "EMEvaluator", "HuggingfaceEvaluator", "JiebaRougeEvaluator", "LMEvaluator", "MccEvaluator",
        "PassRateEvaluator", "RougeEvaluator", "SquadEvaluator", "TEvalEvaluator", "ToxicEvaluator",
        "WinRateEvaluator",
    }
)  # fmt: skip
"""The classes of `opencompass.openicl.icl_evaluator`."""

TEMPLATE_TYPES: Mapping[str, str] = {
    "PromptTemplate": "A text or a dialogue, or one of these per label.",
    "RawPromptTemplate": "Messages in the OpenAI format. Nothing is masked.",
}

DIALOGUE_ROLES: Mapping[str, str] = {
    "HUMAN": "The person who asks.",
    "BOT": "The model.",
    "SYSTEM": "Instructions before the dialogue. Add a `fallback_role`, because not every model has this "
    "role.",
}
"""Conventional roles of dialogues."""

ROLE_SYNONYMS: Mapping[str, str] = {"USER": "HUMAN", "ASSISTANT": "BOT", "AI": "BOT", "MODEL": "BOT"}
"""What other programs call these roles, in capitals."""

MESSAGE_ROLES: Mapping[str, str] = {
    "system": "Instructions before the conversation.",
    "user": "The person who asks.",
    "assistant": "The model.",
}
"""Roles of the messages of a `RawPromptTemplate`."""

API_MODELS: frozenset[str] = frozenset(
    {
        "AI360GPT", "BaiChuan", "BailingAPI", "BaseAPIModel", "BlueLMAPI", "ByteDance", "Claude",
        "ClaudeAllesAPIN",
        "ClaudeSDK", "DeepseekAPI", "Doubao", "ERNIEBot", "Gemini", "GeminiSDK", "HuggingFaceChatGLM3",
        "Hunyuan", "KrGPT", "LLaMA2AccessoryModel", "LightllmChatAPI", "LiteLLMAPI", "Llama2", "Llama2Chat",
        "MiniMax", "MiniMaxChatCompletionV2", "Mistral", "Mixtral", "MoonShot", "Nanbeige", "OpenAI",
        "OpenAISDK", "OpenAISDKResponse", "OpenAISDKRollout", "OpenAISDKStreaming", "PanGu", "Qwen", "Rendu",
        "SenseTime", "StepFun", "TeleChat", "TeleChatStream",
        "UniGPT", "XunFei", "XunFeiSpark", "Yayi", "YiAPI", "ZhiPuAI", "ZhiPuV2AI",
    }
)  # fmt: skip
"""Model classes that receive messages, according to the `api_role` of their meta template."""

CHAT_MODELS: frozenset[str] = frozenset(
    {"HuggingFacewithChatTemplate", "TurboMindModelwithChatTemplate", "VLLMwithChatTemplate"}
)
"""Model classes that receive messages even without a meta template."""

BASE_MODELS: frozenset[str] = frozenset(
    {
        "AlayaLM", "BaseModel", "GLM130B", "HuggingFace", "HuggingFaceBaseModel", "HuggingFaceCausalLM",
        "InternLM", "InternTrain", "LightllmAPI", "ModelScope", "ModelScopeCausalLM", "TurboMindAPIModel",
        "TurboMindModel", "VLLM",
    }
)  # fmt: skip
"""Model classes that receive one text."""

MODEL_CLASSES: frozenset[str] = API_MODELS | BASE_MODELS | CHAT_MODELS

CHAT_MODEL_TEMPLATE: Mapping[str, object] = {
    "round": [
        {"role": "HUMAN", "api_role": "HUMAN"},
        {"role": "SYSTEM", "api_role": "HUMAN"},
        {"role": "BOT", "api_role": "BOT", "generate": True},
    ]
}
"""The default meta template of `CHAT_MODELS`, which sends system turns with the user role."""

USUAL_ICE_MARK = "</E>"
"""The conventional `ice_token`, the mark for in-context examples."""


EVALUATION_KEYS: Mapping[str, KeyFact] = table(
    optional(
        "infer_cfg",
        "mapping",
        "Templates, retriever and inferencer. These keys may also be at the top level.",
    ),
    optional("reader_cfg", "mapping", "The columns of the dataset with inputs and with the answer."),
    optional("meta_template", "mapping", "Format of a dialogue for a model: the texts around each role."),
    optional(
        "meta_templates",
        "mapping of names to meta templates",
        "Meta templates for previews, for example one per model. `meta_template` comes first.",
    ),
    optional(
        "models",
        "list of mappings",
        "Models of OpenCompass, each with `abbr`, `type` and `meta_template`: more formats for previews.",
    ),
    optional(
        "path",
        "path",
        "The dataset: a CSV or JSONL file, or a folder with one file per split, such as `train.csv` "
        "and `test.csv`. The name of a dataset in a hub is allowed, but its rows are not available.",
    ),
    optional(
        "eval_cfg",
        "mapping",
        "How OpenCompass scores the answers. Experiments in promptls use `metrics` instead.",
    ),
    optional("abbr", "text", "Short name of the dataset in OpenCompass's results."),
)
"""Keys at the top level of an evaluation prompt."""

INFER_KEYS: Mapping[str, KeyFact] = table(
    optional(
        "ice_template",
        "template mapping",
        "Template of an in-context example (ICE). Without `prompt_template`, it is also used for the "
        "question and needs an `ice_token`. Examples contain only the `round` of a dialogue.",
    ),
    optional(
        "prompt_template",
        "template mapping",
        "Template of the question. Its `ice_token` is replaced by the examples.",
    ),
    required_key(
        "retriever", "mapping", "Selects the in-context examples: `ZeroRetriever`, `FixKRetriever`, …"
    ),
    required_key(
        "inferencer",
        "mapping",
        "How the model is asked: `GenInferencer` generates text, `PPLInferencer` selects the most likely "
        "label.",
    ),
)

INFERENCER_KEYS: Mapping[str, KeyFact] = table(
    required_key("type", "class name", "The inferencer class: `GenInferencer`, `PPLInferencer`, …"),
    optional("max_out_len", "integer", "Maximum number of tokens of an answer."),
    optional(
        "max_seq_len",
        "integer",
        "Maximum number of tokens of a prompt. In-context examples are dropped from the end until it fits.",
    ),
    optional("batch_size", "integer", "Number of prompts per batch."),
    optional(
        "gen_field_replace_token", "text", "Replacement for the output column in the prompt. Default: empty."
    ),
    optional("stopping_criteria", "list of texts", "Texts that end the answer."),
    optional("labels", "list of labels", "Labels for `PPLInferencer`, if the template does not define them."),
)

READER_KEYS: Mapping[str, KeyFact] = table(
    required_key(
        "input_columns",
        "list of names",
        "Columns with inputs. Retrievers use them to compare rows. Templates may also use other columns.",
    ),
    required_key(
        "output_column",
        "text",
        "Column with the answer. It is empty in prompts that the model answers, and unchanged in "
        "examples, in prompts for labels and in messages.",
    ),
    optional(
        "input_template", "template mapping", "Template of a row's inputs, for retrievers that compare rows."
    ),
    optional(
        "output_template", "template mapping", "Template of a row's answer, for retrievers that compare rows."
    ),
    optional(
        "train_range",
        "text or number",
        "Rows of the training split: a slice such as `[:100]`, or a number or fraction of rows in a "
        "fixed random order.",
    ),
    optional("test_range", "text or number", "Rows of the test split to ask, as in `train_range`."),
    optional("train_split", "text", "Name of the training split. Default: `train`."),
    optional("test_split", "text", "Name of the test split. Default: `test`."),
)


TEMPLATE_KEYS: Mapping[str, KeyFact] = table(
    optional("type", "class name", "Template class: `PromptTemplate`, or `RawPromptTemplate` for messages."),
    required_key(
        "template",
        "text or mapping",
        "A text with `{column}` fields, a dialogue (`begin`, `round`, `end`), or a mapping from labels "
        "to one of these.",
    ),
    optional(
        "ice_token",
        "text",
        "Token that is replaced by the in-context examples, often `</E>`. It must occur in the text.",
    ),
    optional("sep_token", "text", "Token that is removed from the text."),
    optional(
        "messages",
        "list of mappings",
        "Messages of a `RawPromptTemplate`, each with `role` and `content`. No column is masked, not "
        "even the answer.",
    ),
    optional(
        "format_variables",
        "yes or no",
        "Whether the fields of a `RawPromptTemplate` are replaced. Default: yes.",
    ),
)
"""Keys of `ice_template` and `prompt_template`."""

CHAT_ROLES: Final = {"HUMAN": "user", "BOT": "assistant", "SYSTEM": "system"}
"""The roles of the chat format, by the roles of meta templates for APIs."""

DIALOGUE_KEYS: Mapping[str, KeyFact] = table(
    optional("begin", "list of items", "Items before the dialogue, often a system message."),
    required_key(
        "round",
        "list of mappings",
        "The turns, each with `role` and `prompt`. The model writes the text of the last generating role.",
    ),
    optional(
        "end",
        "list of items",
        "Items after the dialogue. With a meta template, OpenCompass 0.5.4 fails when it reaches them.",
    ),
)
"""Keys of a dialogue template; with any other key, OpenCompass treats the mapping as labels."""

TURN_KEYS: Mapping[str, KeyFact] = table(
    required_key(
        "role",
        "text",
        "Speaker, usually `HUMAN`, `BOT` or `SYSTEM`. The model's meta template must define the role.",
    ),
    optional(
        "fallback_role",
        "text",
        "Role to use if the meta template does not define `role`. In `round`, only API models use it.",
    ),
    optional("prompt", "text", "Text of the turn, with `{column}` fields."),
    optional("begin", "text", "Text before the turn, instead of the meta template's."),
    optional("end", "text", "Text after the turn, instead of the meta template's."),
)

META_KEYS: Mapping[str, KeyFact] = table(
    optional("begin", "text", "Text before the whole dialogue."),
    required_key("round", "list of mappings", "Roles of the model, in the order of their turns."),
    optional("end", "text", "Text after the whole dialogue; omitted if the model generates."),
    optional("reserved_roles", "list of mappings", "Roles outside of the turns, such as `SYSTEM`."),
)

META_ROLE_KEYS: Mapping[str, KeyFact] = table(
    required_key("role", "text", "Name of the role in dialogues: `HUMAN`, `BOT`, `SYSTEM`."),
    optional("begin", "text", "Text before each turn of the role."),
    optional("prompt", "text", "Default text of the role, if the dialogue has none."),
    optional("end", "text", "Text after each turn of the role."),
    optional(
        "generate", "yes or no", "Whether the model writes this role's text. Its last turn ends the prompt."
    ),
    optional("api_role", "text", "Role in the messages of an API model. Either all roles have one, or none."),
)


MODEL_KEYS: Mapping[str, KeyFact] = table(
    required_key("type", "class name", "The class of the model, such as `HuggingFacewithChatTemplate`."),
    optional("abbr", "text", "Short name of the model in OpenCompass's results."),
    optional("path", "text", "The model: a name in a hub or at a provider, or a folder."),
    optional("batch_size", "integer", "Number of prompts per batch."),
    optional("max_out_len", "integer", "Maximum number of tokens of an answer."),
    optional("max_seq_len", "integer", "Maximum number of tokens of a prompt."),
    optional("meta_template", "mapping", "Format of a dialogue for the model: the texts around each role."),
    optional("run_cfg", "mapping", "What a task of this model needs: `num_gpus`, `num_procs`."),
    optional("model_kwargs", "mapping", "Arguments for loading the model."),
    optional("tokenizer_path", "text", "The tokenizer, if it is not at `path`."),
    optional("tokenizer_kwargs", "mapping", "Arguments for loading the tokenizer."),
    optional("generation_kwargs", "mapping", "Arguments of each generation, such as `temperature`."),
    optional("engine_config", "mapping", "Arguments of LMDeploy's engine."),
    optional("gen_config", "mapping", "Arguments of each generation by LMDeploy."),
    optional("stop_words", "list of texts", "Texts that end the answer."),
    optional("query_per_second", "integer", "Maximum number of requests per second to a provider."),
    optional("pred_postprocessor", "mapping", "Functions that clean the model's answers, by dataset."),
)

RUN_KEYS: tuple[str, ...] = ("num_gpus", "num_procs")

OTHER_MODEL_KEYS: frozenset[str] = frozenset(
    {
        "additional_stop_symbols", "api_base", "api_key", "backend", "batch_padding", "ckpt_path",
        "concurrency", "drop_middle", "end_str", "key", "max_batch_size", "max_workers", "min_out_len",
        "mode", "model_config", "model_name", "model_type", "num_gpus", "org", "peft_kwargs", "peft_path",
        "retry", "stream", "temperature", "timeout", "token", "tokenizer_only", "tokenizer_type", "url",
    }
)  # fmt: skip
"""Arguments of some model classes, which are no typos of the keys above."""


RETRIEVERS: Mapping[str, str] = {
    "ZeroRetriever": "No examples.",
    "FixKRetriever": "The rows of `fix_id_list`, the same for every question.",
    "RandomRetriever": "Random rows, with a fixed seed.",
    "SlidingWindowRetriever": "The `k` rows before the current one.",
    "BM25Retriever": "The rows with the most similar words.",
    "TopkRetriever": "The rows with the most similar embeddings.",
    "MDLRetriever": "Of the most similar rows, those that compress the question best.",
    "DPPRetriever": "Similar rows that differ from each other.",
    "VotekRetriever": "The rows that are similar to most others, the same for every question.",
}
"""Values of a retriever's `type`, with the examples that each picks."""

RETRIEVER_KEYS: Mapping[str, KeyFact] = table(
    required_key("type", "class name", "Retriever class, such as `ZeroRetriever`."),
    optional("fix_id_list", "list of integers", "Training rows for `FixKRetriever`, counted from 0."),
    optional(
        "ice_num",
        "integer",
        "Number of examples. Default: 1. `FixKRetriever` and `SlidingWindowRetriever` ignore it.",
    ),
    optional(
        "ice_separator", "text", "Text between examples. Default: a line break. Not used between dialogues."
    ),
    optional(
        "ice_eos_token",
        "text",
        "Text after the last example. Default: a line break, empty for `ZeroRetriever`. Not used after "
        "dialogues.",
    ),
    optional("index_split", "text", "Split of the examples. Default: `train`."),
    optional("test_split", "text", "Split to ask. Default: `test`."),
    optional(
        "k",
        "integer",
        "Number of examples of `SlidingWindowRetriever`: the training rows before the number of the "
        "current row, continued from the last row.",
    ),
    optional(
        "seed", "integer", "Random seed of `RandomRetriever` and `MDLRetriever`. Default: 43, and 1 for MDL."
    ),
    optional(
        "sentence_transformers_model_name",
        "text",
        "Model of the retrievers that compare embeddings. Default: `all-mpnet-base-v2`.",
    ),
    optional("tokenizer_name", "text", "Tokenizer of `TopkRetriever`. Default: `gpt2-xl`."),
    optional("batch_size", "integer", "Batch size of `TopkRetriever`. Default: 1."),
    optional("candidate_num", "integer", "Number of similar rows that `MDLRetriever` tries. Default: 1."),
    optional("select_time", "integer", "Number of choices that `MDLRetriever` compares. Default: 5."),
    optional("ce_model_name", "text", "Language model of `MDLRetriever`. Default: `gpt2-xl`."),
    optional("ice_template", "mapping", "Template of the examples that `MDLRetriever` compares."),
    optional("prompt_template", "mapping", "Template of the questions that `MDLRetriever` compares."),
    optional("labels", "list", "Labels that `MDLRetriever` compares. Default: those of its templates."),
    optional(
        "votek_k", "integer", "Number of neighbors that each row votes for in `VotekRetriever`. Default: 3."
    ),
)

RETRIEVER_ARGUMENTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "ZeroRetriever": ((), ("ice_eos_token",)),
    "FixKRetriever": (("fix_id_list",), ("ice_separator", "ice_eos_token", "ice_num")),
    "RandomRetriever": ((), ("ice_separator", "ice_eos_token", "ice_num", "seed")),
    "SlidingWindowRetriever": (("k",), ("ice_separator", "ice_eos_token", "ice_num")),
    "BM25Retriever": ((), ("ice_separator", "ice_eos_token", "ice_num")),
    "TopkRetriever": (
        (),
        (
            "ice_separator", "ice_eos_token", "ice_num",
            "sentence_transformers_model_name", "tokenizer_name", "batch_size",
        ),
    ),
    "VotekRetriever": (
        (),
        (
            "ice_separator", "ice_eos_token", "ice_num",
            "sentence_transformers_model_name", "tokenizer_name", "batch_size", "votek_k",
        ),
    ),
    "MDLRetriever": (
        ("ice_template",),
        (
            "ice_separator", "ice_eos_token", "ice_num",
            "sentence_transformers_model_name", "tokenizer_name", "batch_size",
            "candidate_num", "ce_model_name", "select_time", "prompt_template", "labels", "seed",
        ),
    ),
}  # fmt: skip
"""The required and the optional arguments of retrievers; any other key is a TypeError."""

EMBEDDING_RETRIEVERS: frozenset[str] = frozenset({"MDLRetriever", "TopkRetriever", "VotekRetriever"})
"""Retrievers that compare the embeddings of rows by a sentence model."""

COMPARING_RETRIEVERS: frozenset[str] = EMBEDDING_RETRIEVERS | {"BM25Retriever"}
"""Retrievers that compare all training rows with each question."""

LEGACY_RETRIEVER_KEYS: frozenset[str] = frozenset({"type", "dataset", "index_split", "test_split"})
"""Keys that OpenCompass sets itself, or accepted in earlier releases."""
