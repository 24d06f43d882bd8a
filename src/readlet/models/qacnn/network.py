"""QACNNnet: a smaller QANet (Yu et al. 2018). Convolutions, attention, no recurrence."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from readlet.models.config import norm_gamma
from readlet.models.qacnn.config import QacnnConfig, QacnnNetwork
from readlet.models.torch_scorer import SpanLogits
from readlet.nn.characters import CharacterConvolution, NoCharacters
from readlet.nn.qanet import (
    ContextQueryAttention,
    EncoderBlock,
    Highway,
    SelfAttention,
    sublayer_count,
)
from readlet.nn.softmax import normalised
from readlet.text.arrays import PADDING
from readlet.text.tensors import FormTables, WordBatch

# Initial embeddings have a deviation of about 0.4, the positions added to them one of 0.7. The word
# must outweigh its position, or attention begins by comparing positions.
_WORDS_OVER_POSITIONS = 4.0
_FORMS_AT_ONCE = 4096  # bounds the memory of the character convolution


class Embedding(nn.Module):
    """Words and characters, projected to the model's width, then highway layers."""

    frozen: Tensor

    def __init__(
        self,
        sizes: QacnnNetwork,
        frozen: Tensor,
        trainable_rows: int,
        character_count: int,
        languages: int,
    ) -> None:
        super().__init__()
        # `frozen` has zero rows for trainable words; `trainable` has no rows for frozen words.
        self.register_buffer("frozen", frozen)  # (V, E)
        self.trainable = nn.Embedding(trainable_rows, frozen.shape[1], padding_idx=0)
        nn.init.normal_(self.trainable.weight, std=0.1)
        nn.init.zeros_(self.trainable.weight[0])
        self.characters = _character_layer(sizes, character_count, languages)
        # One more feature of context words: whether they occur in the question. 0 in questions.
        self.match_features = sizes.match_features
        inputs = frozen.shape[1] + sizes.character_filters + sizes.match_features
        self.project = nn.Linear(inputs, sizes.width, bias=False)
        self.highway = Highway(sizes.width, sizes.highway_layers, sizes.dropout)
        self.dropout = nn.Dropout(sizes.dropout)

    def of_forms(self, words: Tensor, characters: Tensor) -> Tensor:
        """Word numbers (U,) and character vectors (U, C) -> (U, E + C)."""
        is_trainable = words < self.trainable.num_embeddings  # (U,)
        row = torch.where(is_trainable, words, 0)  # (U,)
        vectors = self.frozen[words].to(self.trainable.weight.dtype)  # (U, E)
        return torch.cat([vectors + self.trainable(row), characters], dim=-1)  # (U, E + C)

    def forward(self, of_forms: Tensor, places: Tensor, match: Tensor) -> Tensor:
        """Vectors of forms (U, E + C), indices into them (B, L), match (B, L) -> (B, L, D)."""
        batch, length = places.shape
        inputs = of_forms.index_select(0, places.flatten())  # (B * L, E + C)
        parts = [self.dropout(inputs).view(batch, length, -1)]  # (B, L, E + C)
        if self.match_features:
            parts.append(match.unsqueeze(-1).to(inputs.dtype))  # (B, L, 1)
        joined: Tensor = self.highway(self.project(torch.cat(parts, dim=-1)))  # (B, L, D)
        return joined


def _character_layer(
    sizes: QacnnNetwork, characters: int, languages: int
) -> CharacterConvolution | NoCharacters:
    if not sizes.character_filters:
        return NoCharacters()
    return CharacterConvolution(
        characters,
        sizes.character_width,
        sizes.character_filters,
        sizes.character_kernel,
        sizes.character_dropout,
        language=sizes.language_characters,
        languages=languages,
        language_dropout=sizes.language_dropout,
    )


class QACNN(nn.Module):
    """Question and context share the encoder; the model encoder runs three times (M0, M1, M2).

    With `null`, the first position of every context represents "no answer".
    """

    def __init__(
        self,
        settings: QacnnConfig,
        frozen: Tensor,
        trainable_rows: int,
        character_count: int,
        *,
        languages: int = 0,
        null: bool = False,
    ) -> None:
        super().__init__()
        sizes = settings.model
        self.null = null
        self.loss_gamma = norm_gamma(settings.loss, sizes.width)
        self.embedding = Embedding(sizes, frozen, trainable_rows, character_count, languages)

        def block(convolutions: int, kernel: int, number: int, of: int) -> EncoderBlock:
            sublayers = sublayer_count(convolutions)
            return EncoderBlock(
                width=sizes.width,
                convolutions=convolutions,
                kernel=kernel,
                heads=sizes.heads,
                head_width=sizes.head_width,
                feed_forward=sizes.feed_forward,
                dropout=sizes.dropout,
                input_dropout=sizes.input_dropout,
                norm_gamma=norm_gamma(settings.attention, sizes.head_width),
                first_sublayer=number * sublayers + 1,
                total_sublayers=of * sublayers,
                last_survival=sizes.last_survival,
            )

        self.encoder = block(sizes.embedding_convolutions, sizes.embedding_kernel, 0, 1)
        self.attention = ContextQueryAttention(sizes.width, sizes.dropout)
        self.resize = nn.Linear(4 * sizes.width, sizes.width, bias=False)
        self.blocks = nn.ModuleList(
            block(sizes.convolutions, sizes.kernel, i, sizes.blocks) for i in range(sizes.blocks)
        )
        self.dropout = nn.Dropout(sizes.dropout)
        # No bias: a constant added to every position changes no probability.
        self.start = nn.Linear(2 * sizes.width, 1, bias=False)
        self.end = nn.Linear(2 * sizes.width, 1, bias=False)
        self._initialise()

    def _initialise(self) -> None:
        """Xavier's bounds. Torch's default is about half: positions would outweigh the words."""
        for module in self.modules():
            if isinstance(module, SelfAttention):
                for part in module.qkv.weight.chunk(3):  # query, key and value are three layers
                    nn.init.xavier_uniform_(part)
                nn.init.xavier_uniform_(module.output.weight)
        for layer in (self.embedding.project, self.resize):
            nn.init.xavier_uniform_(layer.weight)
        # The residual stream is large by then: with small weights, training starts near the loss
        # of random guessing.
        for layer in (self.start, self.end):
            nn.init.normal_(layer.weight, std=0.01)
        characters = self.embedding.characters
        if isinstance(characters, CharacterConvolution):
            nn.init.normal_(characters.embedding.weight, std=0.1)
            nn.init.zeros_(characters.embedding.weight[0])  # padding

    def compile_blocks(self) -> None:
        """Compile the blocks in place; this pays off only in long runs on a GPU."""
        for block in (self.encoder, *self.blocks):
            block.compile_parts()

    def forward(self, batch: WordBatch, tables: FormTables) -> SpanLogits:
        context_keep = batch.context != PADDING  # (B, Lc)
        question_keep = batch.question != PADDING  # (B, Lq)
        context, question = self._embed(batch, tables)  # (B, Lc, D), (B, Lq, D)
        context = self.encoder(context, context_keep)  # (B, Lc, D)
        question = self.encoder(question, question_keep)  # (B, Lq, D)
        mixed = self.attention(context, question, context_keep, question_keep)  # (B, Lc, 4 D)
        m0 = self._model_encoder(self.resize(mixed).float(), context_keep)  # (B, Lc, D)
        m1 = self._model_encoder(m0, context_keep)  # (B, Lc, D)
        m2 = self._model_encoder(m1, context_keep)  # (B, Lc, D)
        start = self.start(torch.cat([m0, m1], dim=-1)).squeeze(-1)  # (B, Lc)
        end = self.end(torch.cat([m0, m2], dim=-1)).squeeze(-1)  # (B, Lc)
        start = self._score(start, context_keep)  # (B, Lc)
        end = self._score(end, context_keep)  # (B, Lc)
        if not self.null:
            return SpanLogits(start, end, context_keep)
        null = torch.stack([start[:, 0], end[:, 0]], dim=1)  # (B, 2)
        return SpanLogits(start[:, 1:], end[:, 1:], context_keep[:, 1:], null)  # (B, Lc - 1)

    def _score(self, logits: Tensor, keep: Tensor) -> Tensor:
        """The softmax of the result is the softmax or the NormSoftmax of the logits (recipe)."""
        if self.loss_gamma is None:
            return logits.float()  # (B, Lc)
        return normalised(logits.float(), keep, -1, self.loss_gamma)  # (B, Lc)

    def _embed(self, batch: WordBatch, tables: FormTables) -> tuple[Tensor, Tensor]:
        """Context (B, Lc, D) and question (B, Lq, D), before they are encoded."""
        of_forms = self.embedding.of_forms(
            tables.words[batch.forms], self._character_vectors(batch.forms, tables)
        )  # (U, E + C)
        keys = tables.keys[batch.forms]  # (U,)
        in_question = _match(keys[batch.context], keys[batch.question])  # (B, Lc)
        match = F.pad(in_question, (0, batch.question.shape[1]))  # (B, Lc + Lq)
        places = torch.cat([batch.context, batch.question], dim=1)  # (B, Lc + Lq)
        embedded = self.embedding(of_forms, places, match)  # (B, Lc + Lq, D)
        # The residual stream stays in float32: it accumulates dozens of updates.
        embedded = embedded.float() * _WORDS_OVER_POSITIONS  # (B, Lc + Lq, D)
        length = batch.context.shape[1]
        return embedded[:, :length].contiguous(), embedded[:, length:].contiguous()

    def _character_vectors(self, forms: Tensor, tables: FormTables) -> Tensor:
        if tables.character_vectors is not None:
            return tables.character_vectors[forms]  # (U, C)
        vectors: Tensor = self.embedding.characters(
            tables.characters[forms], tables.languages[forms]
        )  # (U, C)
        return vectors

    @torch.inference_mode()
    def read_characters(self, tables: FormTables) -> None:
        """Compute the character vectors of every form once for all batches; inference only."""
        words = torch.split(tables.characters, _FORMS_AT_ONCE)  # of (<= 4096, W)
        languages = torch.split(tables.languages, _FORMS_AT_ONCE)  # of (<= 4096,)
        tables.character_vectors = torch.cat(
            [self.embedding.characters(*part) for part in zip(words, languages, strict=True)]
        )  # (F, C)

    def _model_encoder(self, x: Tensor, keep: Tensor) -> Tensor:
        x = self.dropout(x)  # (B, Lc, D)
        for block in self.blocks:
            x = block(x, keep)  # (B, Lc, D)
        return x


def _match(context_keys: Tensor, question_keys: Tensor) -> Tensor:
    """Which context words occur in the question. Keys 0 and 1, padding and null, never match."""
    same = context_keys.unsqueeze(2) == question_keys.unsqueeze(1)  # (B, Lc, Lq)
    return (same & (question_keys > 1).unsqueeze(1)).any(dim=2)  # (B, Lc)
