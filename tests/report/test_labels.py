from headway.report.labels import policy_colours, rule_colours, short_labels


def test_a_label_is_the_name_where_that_tells_policies_apart():
    assert short_labels(["fcfs", "qba(k=5)"]) == {"fcfs": "fcfs", "qba(k=5)": "qba"}
    assert short_labels(["qba(k=5)", "qba(k=9)"]) == {"qba(k=5)": "qba(k=5)", "qba(k=9)": "qba(k=9)"}
    assert short_labels(["qba", "qba(k=9)"]) == {"qba": "qba", "qba(k=9)": "qba(k=9)"}


def test_the_built_in_policies_keep_their_colours_wherever_they_stand():
    alone = policy_colours(["qba(k=5)"])
    among = policy_colours(["mine", "fcfs", "psf", "qba(k=5)"])
    assert alone["qba(k=5)"] == among["qba(k=5)"]


def test_every_policy_has_its_own_colour():
    policies = ["fcfs", "psf", "aa", "qba", "qba(k=9)", "mine", "yours:Order", "shortest-work"]
    assert len(set(policy_colours(policies).values())) == len(policies)


def test_twelve_policies_have_twelve_colours_whatever_their_names():
    combined = [f"{order} + {shed}" for order in ("fcfs", "psf", "aa", "mine") for shed in ("keep", "reject", "demote")]
    assert len(set(policy_colours(combined).values())) == 12
    among = ["mine", *combined[:7], "qba(k=5)", "qba(k=9)", "fcfs", "psf"]
    colours = policy_colours(among)
    assert len(set(colours.values())) == 12
    assert colours["fcfs"] == policy_colours(["fcfs"])["fcfs"]
    rules = [*(f"past-future(lists={k})" for k in range(1, 9)), "ema", "watermark", "conservative"]
    assert len(set(rule_colours(rules).values())) == 11
