"""The numbers at the top of a report: what each one is of."""

from comparisons import make_comparison

from neurofs.comparison.headline import write_headline
from neurofs.report.verdict import explain_score, judge, list_numbers


def find_numbers(comparison, **updates):
    summary = comparison.summary.model_copy(update=updates)
    headline = write_headline(summary)
    return {one["key"]: one for one in list_numbers(summary.model_copy(update={"headline": headline}))}


def test_the_score_of_several_outputs_is_said_to_be_their_mean():
    assert explain_score(make_comparison().summary).startswith("R², mean of outputs: 1 is perfect")
    assert explain_score(make_comparison(outputs=("y",)).summary).startswith("R²: 1 is perfect")


def test_all_features_are_named_with_their_decoder():
    summary = make_comparison().summary
    numbers, methods = summary.headline.numbers, [m for m in summary.methods if m.method not in ("ridge", "kalman")]
    for method, label in (("all", "All features"), ("all + auto", "All features + auto")):
        own = numbers.model_copy(update={"all": numbers.all.model_copy(update={"method": method})})
        changed = {"methods": methods, "headline": summary.headline.model_copy(update={"numbers": own})}
        assert [one["label"] for one in list_numbers(summary.model_copy(update=changed)) if one["key"] == "all"] == [
            label
        ]


def test_one_feature_is_one():
    comparison = make_comparison()
    one = comparison.summary.methods[0].n.model_copy(update={"median": 1})
    methods = [m.model_copy(update={"n": one}) for m in comparison.summary.methods]
    assert find_numbers(comparison, methods=methods)["main"]["detail"] == "1 feature"


def test_names_of_outputs_keep_their_letters():
    summary = make_comparison(outputs=("cos(ry)", "sin(ry)"), trials=False).summary
    chance = [one.model_copy(update={"beyond": one.output == "cos(ry)"}) for one in summary.chance]
    said = [one["text"] for one in judge(summary.model_copy(update={"chance": chance}))]
    assert any(text.startswith("cos(ry) is decoded beyond chance") for text in said), said
