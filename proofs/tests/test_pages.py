from pathlib import Path

import pytest

from onesided import errors
from onesided_proofs.pages import main, proofs, refresh, source_hash

FOLDER = Path(__file__).parents[2] / "docs" / "proofs"
PARTS = ("**Claim.**", "**Moves.**", "**Coupling.**", "**Loss.**", "**Assumed.**", "**Checked.**")


def test_no_proof_is_stale():
    stale = [f"{proof.page.name}: {proof.name}" for proof in proofs(FOLDER) if proof.stale]
    assert not stale, (
        "These were changed after their page was checked. Read the page again, then: "
        "python -m onesided_proofs.pages docs/proofs --refresh"
    )


def test_a_page_says_everything_a_proof_must():
    for page in FOLDER.glob("*.md"):
        text = page.read_text()
        assert not [part for part in PARTS if part not in text], page.name


def test_a_changed_function_makes_its_page_stale_until_it_is_refreshed(tmp_path, capsys):
    page = tmp_path / "page.md"
    name = "onesided.mechanism.Counts.loss"
    page.write_text(f"# Page\n\nproves: {name} -\n\ntext {name}\n")
    assert [proof.stale for proof in proofs(tmp_path)] == [True]
    page.write_text(page.read_text().replace(" -\n", " 0\n"))  # no hash: nobody has read it
    assert [proof.stale for proof in proofs(tmp_path)] == [True]
    assert main([str(tmp_path)]) == 1
    assert name in capsys.readouterr().out
    assert len(refresh(tmp_path)) == 1
    assert main([str(tmp_path)]) == 0
    assert page.read_text() == f"# Page\n\nproves: {name} {source_hash(name)}\n\ntext {name}\n"


def test_the_hash_is_of_the_source():
    hashes = {
        source_hash(f"onesided.mechanism.Counts.{name}") for name in ("loss", "noisy", "for_policy")
    }
    assert len(hashes) == 3
    assert source_hash("onesided.mechanism.Counts.distribution")


@pytest.mark.parametrize(
    "text", ["# Nothing\n", "proves: onesided.mechanism.Gone -\n", "proves: nowhere.at.all -\n"]
)
def test_pages_that_prove_nothing_are_refused(tmp_path, text):
    (tmp_path / "page.md").write_text(text)
    with pytest.raises(errors.ParameterError):
        proofs(tmp_path)
    with pytest.raises(errors.ParameterError):
        proofs(tmp_path / "empty")
