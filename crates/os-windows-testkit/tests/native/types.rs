//! Every value of the class table, both ways.

use os::schema::{
    self, Automation, Class, Direction, Method, Namespace, Scope, disk, disk_to_partition,
    extended_status, partition,
};
use os::{
    Arguments, Comparison, Deadline, Outcome, Predicate, Provider, Query, Returned, Target, Value,
};
use wincsi_os_windows_testkit::OutParameters;

use crate::echo::{Echo, Sample, Values, get, object, path, set};
use crate::provider_fixture::ProviderFixture;

/// Classes with objects, answered by a provider of ours.
fn classes() -> impl Iterator<Item = &'static Class> {
    let classes = schema::CLASSES.iter().copied();
    classes.filter(|class| class.namespace != Namespace::CimV2 && class.keys().next().is_some())
}

pub(crate) fn methods() -> impl Iterator<Item = (&'static Class, &'static Method)> {
    let classes = schema::CLASSES.iter().copied();
    let ours = classes.filter(|class| class.namespace != Namespace::CimV2);
    ours.flat_map(|class| class.methods.iter().map(move |method| (class, method)))
}

#[test]
fn every_property_of_the_table_comes_as_the_provider_has_it() {
    let (echo, fixture) = Echo::with_bench(OutParameters::Result);
    for class in classes() {
        let select: Vec<_> = class.all_properties().map(|row| row.name).collect();
        for sample in Sample::ALL {
            let sent = vec![object(class, sample)];
            set(&echo.found, sent.clone());
            let found = fixture
                .native
                .query(&Query::all(class.name, &select), Deadline::NEVER);
            assert_eq!(found, Ok(sent), "{} {sample:?}", class.name);
        }
    }
}

#[test]
fn every_property_of_an_associated_object_comes_as_the_provider_has_it() {
    let (echo, fixture) = Echo::with_bench(OutParameters::Result);
    for sample in Sample::ALL {
        let sent = vec![object(&partition::CLASS, sample)];
        set(&echo.found, sent.clone());
        let found = fixture.native.associators(
            &path(&disk::CLASS),
            disk_to_partition::CLASS.name,
            partition::CLASS.name,
            Deadline::NEVER,
        );
        assert_eq!(found, Ok(sent), "{sample:?}");
    }
}

#[test]
fn what_an_associated_object_does_not_have_is_left_out() {
    let (echo, fixture) = Echo::with_bench(OutParameters::Result);
    let mut sent = object(&partition::CLASS, Sample::High);
    sent.properties.remove(partition::SIZE.name);
    set(&echo.found, vec![sent.clone()]);
    let found = fixture.native.associators(
        &path(&disk::CLASS),
        disk_to_partition::CLASS.name,
        partition::CLASS.name,
        Deadline::NEVER,
    );
    assert_eq!(found, Ok(vec![sent]));
}

#[test]
fn every_condition_reaches_the_provider_as_it_was_meant() {
    let (echo, fixture) = Echo::with_bench(OutParameters::Result);
    for class in classes() {
        // A `char16` has no literal, an array is not compared.
        let rows = class.all_properties().filter(|row| !row.array);
        for row in rows.filter(|row| row.cim.automation() != Automation::I2) {
            for sample in Sample::ALL {
                let condition = Predicate {
                    property: row.name,
                    comparison: Comparison::NotEqual,
                    value: sample.value(row.cim, false),
                };
                let mut query = Query::all(class.name, &[]);
                query.conditions.push(condition.clone());
                let found = fixture.native.query(&query, Deadline::NEVER);
                assert_eq!(found, Ok(Vec::new()), "{condition:?}");
                assert_eq!(get(&echo.conditions), [condition]);
            }
        }
    }
}

#[test]
fn every_argument_of_the_table_arrives_as_it_was_sent() {
    for place in [OutParameters::Parameters, OutParameters::Result] {
        let (echo, fixture) = Echo::with_bench(place);
        for (class, method) in methods() {
            for sample in [Sample::High, Sample::Low] {
                let sent = arguments(method, sample);
                let outcome = run(&fixture, class, method, &sent);
                assert_eq!(outcome.code, 0);
                let arrived = get(&echo.arguments);
                assert!(arrived == sent, "{}.{} {sample:?}", class.name, method.name);
            }
        }
    }
}

#[test]
fn an_argument_that_is_null_or_left_out_stays_null() {
    let (echo, fixture) = Echo::with_bench(OutParameters::Result);
    for (class, method) in methods() {
        let sent = arguments(method, Sample::High);
        let mut with_null = sent.clone();
        let optional = method
            .parameters
            .iter()
            .filter(|row| row.direction == Direction::In && row.optional);
        for row in optional {
            with_null.0.insert(row.name, Value::Null);
        }
        run(&fixture, class, method, &with_null);
        let mut arrived = sent;
        arrived.0.retain(|name, _| !with_null.0[name].is_null());
        assert!(
            get(&echo.arguments) == arrived,
            "{}.{}",
            class.name,
            method.name
        );
    }
}

#[test]
fn every_out_parameter_of_the_table_comes_back_embedded_objects_with_all_that_they_have() {
    for place in [OutParameters::Parameters, OutParameters::Result] {
        let (echo, fixture) = Echo::with_bench(place);
        for (class, method) in methods() {
            for sample in Sample::ALL {
                let sent = outcome(method, sample);
                set(&echo.outcome, Some(sent.clone()));
                let got = run(&fixture, class, method, &arguments(method, Sample::High));
                assert_eq!(got, sent, "{}.{} {sample:?}", class.name, method.name);
            }
        }
    }
}

fn run(
    fixture: &ProviderFixture,
    class: &'static Class,
    method: &'static Method,
    with: &Arguments,
) -> Outcome {
    let path = path(class);
    let target = match method.scope {
        Scope::Instance => Target::Instance(&path),
        Scope::Static(_) => Target::Class(class.name),
    };
    let done = fixture
        .native
        .invoke(target, method.name, with, Deadline::NEVER);
    done.expect(method.name)
}

fn arguments(method: &Method, sample: Sample) -> Arguments {
    let rows = method.parameters.iter();
    let rows = rows.filter(|row| row.direction == Direction::In);
    Arguments(
        rows.map(|row| (row.name, sample.value(row.cim, row.array)))
            .collect(),
    )
}

/// The extended status is reported as its text.
fn outcome(method: &Method, sample: Sample) -> Outcome {
    let status = extended_status::PARAMETER.name;
    let rows = method.parameters.iter();
    let rows = rows.filter(|row| row.direction == Direction::Out);
    let has_status = rows.clone().any(|row| row.name == status);
    let out: Values = rows
        .filter(|row| row.name != status)
        .map(|row| (row.name.to_owned(), sample.value(row.cim, row.array)))
        .collect();
    Outcome {
        code: Returned::Code(if sample == Sample::High { u32::MAX } else { 0 }),
        out,
        extended: (has_status && sample == Sample::High).then(|| "not enough space".to_owned()),
    }
}
