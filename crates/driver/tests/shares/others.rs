//! What other processes, and other volumes, map or leave while a first stage fails.

use std::time::Duration;
use std::{fs, thread};

use transport::Code;
use wincsi::Win32;
use wincsi::sim::smb::ServerHealth;
use wincsi::sim::{Effect, Rule, RuleId};

use crate::fixture::{Fixture, PASSWORD, ROOT, SERVER, USER, Volume, path, volume};
use crate::upstream::{ByProxy, Upstream as _};

const NONE: [&str; 0] = [];
const GLANCE: Duration = Duration::from_millis(2);
const LONG: Duration = Duration::from_secs(60);

/// A volume of a folder that the share does not have.
fn missing() -> Volume<'static> {
    Volume {
        remote: r"\\files\data\missing",
        ..volume("missing")
    }
}

/// Does something while a stage hangs in its nth query of mappings, which then has this effect, if any. Returns the error
/// that the stage ends with; none if it has no such query.
fn stage_in_vain_beside(
    fixture: &Fixture,
    volume: &Volume<'_>,
    (nth, then): (u32, Option<Effect>),
    meanwhile: impl FnOnce(),
) -> Option<Code> {
    let faults = fixture.faults();
    let query = |effect| {
        let query = Rule::on("IWbemServices.ExecQuery", effect);
        faults.add(query.from_nth(nth).times(1))
    };
    let hang = query(Effect::Hang);
    then.map(query);
    thread::scope(|scope| {
        let staging = scope.spawn(|| fixture.stage_again(volume));
        let hangs = loop {
            match faults.wait_until_hanging(1, GLANCE) {
                true => break true,
                false if staging.is_finished() => break false,
                false => {}
            }
        };
        if hangs {
            meanwhile();
        }
        faults.remove(hang);
        let staged = staging.join().unwrap();
        hangs.then(|| staged.unwrap_err().code())
    })
}

/// At each moment of a stage at which the share is not mapped yet, another process maps it.
fn stays_though_a_first_stage_fails(prepare: impl Fn(&Fixture), volume: &Volume<'_>, code: Code) {
    let mut moments = 0;
    for nth in 1.. {
        let fixture = Fixture::new();
        fixture.make_staging_folder(volume);
        prepare(&fixture);
        let mut is_theirs = false;
        let failed = stage_in_vain_beside(&fixture, volume, (nth, None), || {
            is_theirs = fixture.mappings().is_empty();
            fixture.map_by_hand(ROOT, USER, PASSWORD);
        });
        if !is_theirs {
            break;
        }
        assert_eq!(failed, Some(code), "query {nth}");
        assert_eq!(fixture.mappings(), [ROOT], "query {nth}");
        assert_eq!(fixture.records(), 0, "query {nth}");
        moments += 1;
    }
    assert!(moments > 1);
}

/// Guards: P79
#[test]
fn what_another_process_maps_stays_though_a_first_stage_finds_no_folder() {
    stays_though_a_first_stage_fails(|_| {}, &missing(), Code::NotFound);
}

#[test]
fn what_another_process_maps_stays_though_the_link_of_a_first_stage_is_denied() {
    let deny = |fixture: &Fixture| {
        let denied = Effect::fail(Win32::ACCESS_DENIED);
        let faults = fixture.faults();
        faults.add(Rule::on("CreateSymbolicLinkW", denied));
    };
    stays_though_a_first_stage_fails(deny, &volume("pv"), Code::PermissionDenied);
}

/// Kubelet repeats the stage when the server is back.
#[test]
fn what_another_process_maps_stays_though_its_server_is_away_when_a_first_stage_finds_it() {
    let mut moments = 0;
    for nth in 1.. {
        let fixture = Fixture::new();
        let smb = fixture.servers();
        let pv = volume("pv");
        fixture.make_staging_folder(&pv);
        let mut is_theirs = false;
        let failed = stage_in_vain_beside(&fixture, &pv, (nth, None), || {
            is_theirs = fixture.mappings().is_empty();
            fixture.map_by_hand(ROOT, USER, PASSWORD);
            smb.set_condition(SERVER, ServerHealth::Down).unwrap();
        });
        if !is_theirs || failed.is_none() {
            break;
        }
        smb.set_condition(SERVER, ServerHealth::Up).unwrap();
        fixture.stage(&pv).unwrap();
        fixture.unstage(&pv).unwrap();
        assert_eq!(fixture.mappings(), [ROOT], "query {nth}");
        moments += 1;
        if moments == 2 {
            break;
        }
    }
    assert_eq!(moments, 2, "before the claim and after it");
}

#[test]
fn a_mapping_that_a_first_stage_could_not_remove_goes_when_kubelet_repeats_it() {
    let fixture = Fixture::new();
    let faults = fixture.faults();
    let denied = Effect::fail(Win32::ACCESS_DENIED);
    faults.add(Rule::on("MSFT_SmbGlobalMapping.Remove", denied));
    let error = fixture.stage(&missing()).unwrap_err();
    assert_eq!(error.code(), Code::Unavailable, "{error}");
    assert_eq!((fixture.mappings().len(), fixture.records()), (1, 1));
    faults.clear();
    fixture.stage(&missing()).unwrap_err();
    assert_eq!(fixture.mappings(), NONE);
    fixture.unstage(&missing()).unwrap();
    assert_eq!(fixture.records(), 0);
}

/// Does something after a first stage of a missing folder has found the share not mapped and claimed it.
fn beside_a_claim_in_vain(fixture: &Fixture, meanwhile: impl FnOnce()) {
    let missing = missing();
    fixture.make_staging_folder(&missing);
    let hang = hang_after_claim(fixture, &missing);
    let faults = fixture.faults();
    thread::scope(|scope| {
        let in_vain = scope.spawn(|| fixture.stage_again(&missing));
        assert!(faults.wait_until_hanging(1, LONG));
        assert_eq!(fixture.records(), 1);
        meanwhile();
        faults.remove(hang);
        let error = in_vain.join().unwrap().unwrap_err();
        assert_eq!(error.code(), Code::NotFound, "{error}");
    });
}

/// A stage hangs when it has its record, before it calls for the mapping.
fn hang_after_claim(fixture: &Fixture, volume: &Volume<'_>) -> RuleId {
    let staging = path(&volume.staging());
    let folder = staging.parent().unwrap().to_string();
    let hang = Rule::on("*", Effect::Hang).object(&folder).times(1);
    fixture.fault(hang)
}

#[test]
fn a_mapping_that_its_last_volume_left_to_a_first_stage_goes_though_that_fails() {
    let (fixture, last) = (Fixture::new(), volume("last"));
    beside_a_claim_in_vain(&fixture, || {
        fixture.stage(&last).unwrap();
        fixture.unstage(&last).unwrap();
        assert_eq!(fixture.mappings(), [ROOT], "the other one uses it");
    });
    assert_eq!((fixture.mappings().len(), fixture.records()), (0, 0));
}

#[test]
fn what_another_process_maps_serves_a_volume_beside_a_stage_in_vain_and_stays() {
    let (fixture, beside) = (Fixture::new(), volume("beside"));
    beside_a_claim_in_vain(&fixture, || {
        fixture.map_by_hand(ROOT, USER, PASSWORD);
        fixture.stage(&beside).unwrap();
    });
    fixture.unstage(&beside).unwrap();
    assert_eq!(
        (fixture.mappings(), fixture.records()),
        (vec![ROOT.to_owned()], 0)
    );
}

#[test]
fn what_another_process_maps_anew_around_the_claim_of_a_first_stage_stays_though_that_fails() {
    let (fixture, missing) = (Fixture::new(), missing());
    fixture.make_staging_folder(&missing);
    fixture.map_by_hand(ROOT, USER, PASSWORD);
    let faults = fixture.faults();
    // The first one finds the mapping, before the claim.
    let query = Rule::on("IWbemServices.ExecQuery", Effect::Hang);
    let look = faults.add(query.from_nth(2).times(1));
    thread::scope(|scope| {
        let in_vain = scope.spawn(|| fixture.stage_again(&missing));
        assert!(faults.wait_until_hanging(1, LONG));
        assert_eq!(fixture.records(), 0);
        let hang = hang_after_claim(&fixture, &missing);
        assert!(fixture.try_unmap_by_hand(ROOT));
        faults.remove(look);
        assert!(faults.wait_until_hanging(1, LONG));
        fixture.map_by_hand(ROOT, USER, PASSWORD);
        faults.remove(hang);
        let error = in_vain.join().unwrap().unwrap_err();
        assert_eq!(error.code(), Code::NotFound, "{error}");
    });
    assert_eq!(
        (fixture.mappings(), fixture.records()),
        (vec![ROOT.to_owned()], 0)
    );
}

/// At each moment of a first stage, csi-driver-smb's last volume of the share is unstaged and leaves its mapping.
fn goes_though_a_first_stage_fails(
    query: Option<Effect>,
    fail: impl Fn(&Fixture),
    restore: impl Fn(&Fixture),
) {
    let mut moments = 0;
    for nth in 1.. {
        let fixture = Fixture::new();
        let (pv, last) = (volume("pv"), volume("last"));
        ByProxy::on(&fixture).stage(&fixture, &last).unwrap();
        fixture.make_staging_folder(&pv);
        let failed = stage_in_vain_beside(&fixture, &pv, (nth, query.clone()), || {
            fixture.unstage(&last).unwrap();
            fail(&fixture);
        });
        restore(&fixture);
        if failed.is_none() {
            break;
        }
        fixture.unstage(&pv).unwrap();
        assert_eq!(fixture.mappings(), NONE, "query {nth}");
        assert_eq!(fixture.records(), 0, "query {nth}");
        moments += 1;
    }
    assert!(moments > 1);
}

#[test]
fn a_mapping_that_was_left_to_a_first_stage_goes_though_its_look_fails_then() {
    let fails = Effect::fail(Win32::GEN_FAILURE);
    goes_though_a_first_stage_fails(Some(fails), |_| {}, |_| {});
}

#[test]
fn a_mapping_that_was_left_to_a_first_stage_goes_though_that_gets_no_record() {
    let records = |fixture: &Fixture| fixture.records_folder();
    let away = |fixture: &Fixture| fixture.home().join("away");
    let take = |fixture: &Fixture| fs::rename(records(fixture), away(fixture)).unwrap();
    let give_back = |fixture: &Fixture| {
        let _ = fs::rename(away(fixture), records(fixture));
    };
    goes_though_a_first_stage_fails(None, take, give_back);
}

/// A death in it leaves a record that no longer counts as a user of the share.
#[test]
fn an_abandoned_share_is_marked_before_it_is_unmapped() {
    let mut fixture = Fixture::new();
    let volume = volume("v");
    fixture.stage(&volume).unwrap();
    fixture.remove_staging_folder(&volume);
    let faults = fixture.faults();
    let denied = Effect::fail(Win32::ACCESS_DENIED);
    faults.add(Rule::on("MSFT_SmbGlobalMapping.Remove", denied));
    fixture.restart();
    assert_eq!(fixture.parsed_records()[0]["state"], "unstaging");
    fixture.heal();
    fixture.restart();
    assert_eq!((fixture.records(), fixture.mappings().len()), (0, 0));
}

/// Its call made nothing, so the mapping that is there next is not its own.
#[test]
fn a_stage_that_could_not_begin_presumes_nothing() {
    let (fixture, volume) = (Fixture::new(), volume("pv"));
    fixture.stage(&volume).unwrap();
    assert!(fixture.try_unmap_by_hand(ROOT));
    let in_the_way = fixture.bar_records();
    fixture.stage_again(&volume).unwrap_err();
    for folder in in_the_way {
        fs::remove_dir(folder).unwrap();
    }
    fixture.map_by_hand(ROOT, USER, PASSWORD);
    fixture.stage_again(&volume).unwrap();
    fixture.unstage(&volume).unwrap();
    assert_eq!(fixture.mappings(), [ROOT]);
}
