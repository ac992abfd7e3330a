//! The log: what is acknowledged is there, whatever happens to the machine.

use std::sync::Arc;
use std::time::Duration;

use ledger_core::log::{
    AppendError, Appended, Batch, Damage, Key, Log, Notice, On, Query, ReadError, Seams, Standing,
    audit,
};
use ledger_core::storage::{OpenMode, Storage};
use ledger_core::{
    Action, Author, AuthorKind, Body, Change, Digest, EventId, FileEdit, FileState, Mode, TreePath,
    layout,
};
use ledger_testkit::{
    CountedIds, Crash, Failure, Fault, FixedClock, SimStorage, crash_everywhere, fail_everywhere,
};

fn author() -> Author {
    Author {
        name: "tester".to_owned(),
        version: None,
        kind: AuthorKind::Agent,
    }
}

fn body(rationale: &str) -> Body {
    let mut body = Body::new(author(), Action::MetaNote, "main");
    body.rationale = Some(rationale.to_owned());
    body
}

fn edit(path: &str) -> Body {
    let mut body = Body::new(author(), Action::FileCreate, "main");
    let hash = Digest::of(b"");
    body.edits = vec![Arc::new(FileEdit {
        path: TreePath::parse(path).unwrap(),
        from: None,
        before: None,
        after: Some(FileState {
            mode: Mode::File,
            hash,
        }),
        change: Change::None,
    })];
    body
}

fn batch(bodies: Vec<Body>) -> Batch {
    Batch {
        bodies,
        on: On::Tip,
        key: None,
    }
}

fn seams(disk: &SimStorage, seed: u64) -> Seams {
    Seams {
        storage: Arc::new(disk.clone()),
        clock: Arc::new(FixedClock::default()),
        ids: Arc::new(CountedIds::with_seed(seed)),
        lock_timeout: Duration::from_secs(1),
    }
}

fn open(disk: &SimStorage) -> Log {
    Log::open(seams(disk, 7)).unwrap()
}

fn create(disk: &SimStorage) -> Result<Log, AppendError> {
    let storage = disk.clone();
    Log::create(seams(disk, 1), |_| {
        let standing = Standing {
            branch: "main".to_owned(),
            event: EventId::GENESIS,
        };
        // A name that no other try has.
        standing.write(&storage, storage.steps() + storage.reads() * 1000)?;
        Ok::<_, AppendError>(batch(vec![body("genesis"), body("second")]))
    })
}

/// A disk with a ledger of three events.
fn prepared() -> SimStorage {
    let disk = SimStorage::new();
    let log = create(&disk).unwrap();
    log.append(batch(vec![body("third")])).unwrap();
    disk.settle();
    disk
}

fn rationales(log: &Log) -> Vec<String> {
    let view = log.view().unwrap();
    let mut texts: Vec<_> = view
        .history(Query::default())
        .map(|row| row.unwrap().event.body.rationale.unwrap_or_default())
        .collect();
    texts.reverse();
    texts
}

/// Checks that every row chains, and that a writer can go on.
fn assert_sound(disk: &SimStorage) {
    let log = Log::open(seams(disk, 1001)).unwrap();
    log.append(batch(vec![body("after the crash")])).unwrap();
    let mut last = None;
    let found = audit::<ReadError>(disk, &mut |_, row| {
        last = Some(row?.event.id);
        Ok(())
    })
    .unwrap();
    assert_eq!(found.tail, None);
    assert_eq!(found.cut_short, None);
    assert_eq!(rationales(&log).last().unwrap(), "after the crash");
    // A second recovery changes nothing.
    let before = disk.read(".user/ledger/events.jsonl");
    let again = Log::open(seams(disk, 2001)).unwrap();
    again.settle_end().unwrap();
    assert_eq!(again.take_notices(), []);
    assert_eq!(disk.read(".user/ledger/events.jsonl"), before);
}

#[test]
fn what_was_acknowledged_survives_a_crash_at_every_step_and_batches_are_whole_or_absent() {
    crash_everywhere(
        &prepared(),
        |disk, acks| -> Result<(), AppendError> {
            let log = Log::open(seams(disk, 3))?;
            log.append(batch(vec![body("a")]))?;
            acks.push(1);
            log.append(batch(vec![body("b1"), body("b2"), body("b3")]))?;
            acks.push(3);
            log.append(batch(vec![body("c")]))?;
            acks.push(1);
            Ok(())
        },
        |survivor, acked| {
            let expected = ["genesis", "second", "third", "a", "b1", "b2", "b3", "c"];
            let found = rationales(&open(survivor));
            let count: usize = acked.iter().sum();
            assert!(
                found.len() >= 3 + count,
                "acknowledged {count}, found {found:?}"
            );
            assert_eq!(found, expected[..found.len()]);
            assert!(
                [3, 4, 7, 8].contains(&found.len()),
                "part of a batch: {found:?}"
            );
            assert_sound(survivor);
        },
    );
}

#[test]
fn a_ledger_is_made_whole_or_can_be_made_again() {
    crash_everywhere(
        &SimStorage::new(),
        |disk, acks| -> Result<(), AppendError> {
            create(disk)?;
            acks.push(());
            Ok(())
        },
        |survivor, acked| match Log::open(seams(survivor, 5)) {
            Ok(log) => assert_eq!(rationales(&log), ["genesis", "second"]),
            Err(error) => {
                assert!(acked.is_empty(), "acknowledged, and then: {error}");
                create(survivor).unwrap();
                assert_eq!(rationales(&open(survivor)), ["genesis", "second"]);
            }
        },
    );
}

#[test]
fn a_torn_tail_is_set_aside_whole_at_every_crash_of_setting_it_aside() {
    let torn = prepared();
    let mut bytes = torn.read(".user/ledger/events.jsonl").unwrap();
    let end = bytes.len();
    bytes.extend_from_slice(b"{\"id\":\"evt-000003\",\"ts\":\"20");
    torn.write_file(".user/ledger/events.jsonl", &bytes);
    crash_everywhere(
        &torn,
        |disk, acks| -> Result<(), AppendError> {
            let log = Log::open(seams(disk, 3))?;
            log.append(batch(vec![body("next")]))?;
            acks.push(());
            Ok(())
        },
        |survivor, acked| {
            let found = rationales(&open(survivor));
            assert!(
                found.len() == 4 || (found.len() == 3 && acked.is_empty()),
                "{found:?}"
            );
            assert_sound(survivor);
            // The tail is in one of the files beside, or still (then again) behind the rows.
            let beside = survivor.tree().keys().any(|path| {
                path.as_bytes()
                    .starts_with(format!(".user/ledger/events.jsonl.torn-{end}").as_bytes())
            });
            assert!(beside);
        },
    );
}

#[test]
fn an_append_that_fails_is_not_acknowledged_and_the_next_one_works() {
    fail_everywhere(
        &prepared(),
        |disk, acks| -> Result<(), AppendError> {
            let log = Log::open(seams(disk, 3))?;
            log.append(batch(vec![body("a")]))?;
            acks.push("a");
            log.append(batch(vec![body("b")]))?;
            acks.push("b");
            Ok(())
        },
        |survivor, acked, _| {
            let found = rationales(&open(survivor));
            for text in acked {
                assert!(
                    found.iter().any(|found| found == text),
                    "{text} of {found:?}"
                );
            }
            assert_sound(survivor);
        },
    );
}

#[test]
fn after_a_failed_sync_the_handle_acknowledges_nothing_more() {
    let disk = prepared();
    let log = open(&disk);
    log.append(batch(vec![body("a")])).unwrap();
    disk.inject(Failure::Step(1, Fault::Io));
    let failed = log.append(batch(vec![body("lost")])).unwrap_err();
    assert!(matches!(failed, AppendError::Failed(_)), "{failed}");
    let poisoned = log.append(batch(vec![body("more")])).unwrap_err();
    assert!(matches!(poisoned, AppendError::Poisoned), "{poisoned}");
    let log = open(&disk);
    log.append(batch(vec![body("b")])).unwrap();
    assert_eq!(rationales(&log), ["genesis", "second", "third", "a", "b"]);
}

#[test]
fn rows_of_a_killed_writer_are_kept_and_made_durable_by_the_next() {
    // The machine stops after the write of the rows and before their sync; nothing is lost yet.
    let disk = prepared();
    let dying = disk.fork();
    dying.crash_at(1);
    let log = Log::open(seams(&dying, 3)).unwrap();
    log.append(batch(vec![body("unacknowledged")])).unwrap_err();
    let killed = dying.crash(Crash::KeepAll);
    let log = Log::open(seams(&killed, 4)).unwrap();
    log.append(batch(vec![body("next")])).unwrap();
    // Now the power goes.
    let survivor = killed.crash(Crash::DropAll);
    assert_eq!(
        rationales(&open(&survivor)),
        ["genesis", "second", "third", "unacknowledged", "next"]
    );
}

#[test]
fn a_ledger_cut_short_before_its_tip_is_damaged() {
    let disk = prepared();
    let bytes = disk.read(".user/ledger/events.jsonl").unwrap();
    for len in 0..bytes.len() {
        let cut = disk.fork();
        cut.write_file(".user/ledger/events.jsonl", &bytes[..len]);
        let error = Log::open(seams(&cut, 3)).unwrap_err();
        assert!(matches!(error, ReadError::Damaged(_)), "{len}: {error}");
        // And nobody appends to it.
        let opened = create(&cut);
        assert!(matches!(opened, Err(AppendError::Exists)), "{len}");
    }
}

#[test]
fn every_changed_byte_of_every_row_is_found() {
    let disk = prepared();
    let bytes = disk.read(".user/ledger/events.jsonl").unwrap();
    for at in 0..bytes.len() {
        for change in [1, 0x80] {
            let mut altered = bytes.clone();
            altered[at] ^= change;
            let damaged = disk.fork();
            damaged.write_file(".user/ledger/events.jsonl", &altered);
            let mut faults = 0;
            let found = audit::<ReadError>(&damaged, &mut |_, row| {
                faults += usize::from(row.is_err());
                Ok(())
            });
            let found = found.unwrap();
            let told = faults > 0
                || found.cut_short.is_some()
                || found.tail.is_some_and(|tail| tail.acknowledged);
            assert!(told, "byte {at} ^ {change:#x}");
        }
    }
}

#[test]
fn rows_that_are_deleted_repeated_or_swapped_are_found() {
    let disk = prepared();
    let bytes = disk.read(".user/ledger/events.jsonl").unwrap();
    let rows: Vec<&[u8]> = bytes.split_inclusive(|&b| b == b'\n').collect();
    let [a, b, c] = rows[..] else {
        panic!("three rows")
    };
    for (what, order) in [
        ("deleted", vec![a, c]),
        ("repeated", vec![a, b, b, c]),
        ("swapped", vec![a, c, b]),
        ("last one twice", vec![a, b, c, c]),
        ("first gone", vec![b, c]),
    ] {
        let altered = disk.fork();
        altered.write_file(".user/ledger/events.jsonl", &order.concat());
        let found = audit::<ReadError>(&altered, &mut |_, _| Ok(())).unwrap();
        assert!(found.cut_short.is_some() || found.tail.is_some(), "{what}");
    }
}

#[test]
fn the_same_key_is_answered_with_the_same_events_and_other_content_is_refused() {
    let disk = prepared();
    let keyed = |text: &str, content: &str| Batch {
        bodies: vec![body(content), body("with it")],
        on: On::Tip,
        key: Some(Key {
            text: text.to_owned(),
            digest: Digest::of(content.as_bytes()),
        }),
    };
    let log = open(&disk);
    let first = log.append(keyed("k", "one")).unwrap();
    assert_eq!(first.events, [EventId(3), EventId(4)]);
    log.append(batch(vec![body("between")])).unwrap();
    for log in [&log, &open(&disk)] {
        let again = log.append(keyed("k", "one")).unwrap();
        assert_eq!(
            again,
            Appended {
                events: first.events.clone(),
                hashes: Vec::new(),
                repeated: true
            }
        );
        let other = log.append(keyed("k", "two")).unwrap_err();
        assert!(
            matches!(
                other,
                AppendError::KeyReused {
                    first: EventId(3),
                    ..
                }
            ),
            "{other}"
        );
    }
    assert_eq!(rationales(&log).len(), 6);
}

#[test]
fn a_batch_made_from_an_older_state_is_refused_only_when_its_files_changed_since() {
    let disk = prepared();
    let log = open(&disk);
    let known = log.view().unwrap().last();
    log.append(batch(vec![edit("d/a.txt")])).unwrap();
    let since = |path: &str| Batch {
        bodies: vec![edit(path)],
        on: On::TipUnchangedSince(known),
        key: None,
    };
    log.append(since("b.txt")).unwrap();
    for path in ["d/a.txt", "d", "d/a.txt/below"] {
        let refused = log.append(since(path)).unwrap_err();
        assert!(
            matches!(refused, AppendError::Moved { by: EventId(3), .. }),
            "{path}: {refused}"
        );
    }
}

#[test]
fn threads_share_syncs_and_every_acknowledged_row_is_there_once() {
    const THREADS: usize = 16;
    const EACH: usize = 20;
    let disk = prepared();
    let log = open(&disk);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let log = &log;
            scope.spawn(move || {
                for i in 0..EACH {
                    let appended = log
                        .append(batch(vec![body(&format!("{thread}/{i}"))]))
                        .unwrap();
                    let id = appended.events[0];
                    let row = log.view().unwrap().event(id).unwrap();
                    assert_eq!(row.event.body.rationale.unwrap(), format!("{thread}/{i}"));
                }
            });
        }
    });
    let mut found = rationales(&open(&disk));
    assert_eq!(found.len(), 3 + THREADS * EACH);
    found.sort();
    found.dedup();
    assert_eq!(found.len(), 3 + THREADS * EACH);
}

/// Several of a group built on the tip, and looked for what had changed since: in rows of the same group
/// that were not in the file yet. They read past its end, and never came back.
#[test]
fn batches_of_one_group_see_each_others_rows() {
    let disk = prepared();
    let log = open(&disk);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let log = &log;
            scope.spawn(move || {
                for i in 0..25 {
                    let known = log.view().unwrap().last();
                    let batch = Batch {
                        bodies: vec![edit(&format!("{thread}/{i}"))],
                        on: On::TipUnchangedSince(known),
                        key: (i % 2 == 0).then(|| Key {
                            text: format!("{thread}/{i}"),
                            digest: Digest::of(b""),
                        }),
                    };
                    log.append(batch).unwrap();
                }
            });
        }
    });
    assert_eq!(rationales(&open(&disk)).len(), 3 + 8 * 25);
}

#[test]
fn rows_are_found_by_id_and_parents_are_walked_in_a_long_ledger_without_its_cache() {
    let disk = prepared();
    let log = open(&disk);
    for i in 0..700 {
        log.append(batch(vec![
            body(&"x".repeat(i % 300)),
            body(&i.to_string()),
        ]))
        .unwrap();
    }
    disk.remove_file(&layout::heads()).unwrap();
    let log = open(&disk);
    let view = log.view().unwrap();
    assert_eq!(view.last(), EventId(1402));
    for id in (0..=1402).step_by(13).map(EventId) {
        assert_eq!(view.event(id).unwrap().event.id, id);
    }
    let line: Vec<_> = view
        .line_of(view.last())
        .unwrap()
        .map(|row| row.unwrap().event.id.0)
        .collect();
    assert_eq!(line, (0..=1402).rev().collect::<Vec<_>>());
    assert!(matches!(
        view.event(EventId(1403)),
        Err(ReadError::NoEvent(_))
    ));
}

#[test]
fn time_never_goes_back_and_the_real_clock_is_kept_beside() {
    let disk = SimStorage::new();
    create(&disk).unwrap();
    let clock = Arc::new(FixedClock::default());
    let log = Log::open(Seams {
        clock: clock.clone(),
        ..seams(&disk, 3)
    })
    .unwrap();
    clock.advance(Duration::from_secs(60));
    log.append(batch(vec![body("later")])).unwrap();
    clock.set(ledger_core::Timestamp::from_millis(0));
    log.append(batch(vec![body("the clock was put back")]))
        .unwrap();
    let view = log.view().unwrap();
    let (a, b) = (
        view.event(EventId(2)).unwrap().event,
        view.event(EventId(3)).unwrap().event,
    );
    assert_eq!(a.ts, b.ts);
    assert_eq!(
        (a.clock, b.clock.map(|clock| clock.as_millis())),
        (None, Some(0))
    );
}

#[test]
fn an_unknown_version_is_refused_and_unknown_fields_are_passed_on() {
    let disk = prepared();
    let bytes = disk.read(".user/ledger/events.jsonl").unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let rehash = |line: &str| {
        let body = &line[..line.rfind(",\"hash\":").unwrap()];
        format!("{body},\"hash\":\"{}\"}}", Digest::of(body.as_bytes()))
    };
    let first = text.lines().next().unwrap();
    let newer = rehash(&first.replace("\"version\":1}", "\"version\":2}"));
    disk.write_file(".user/ledger/events.jsonl", format!("{newer}\n").as_bytes());
    disk.write_file(".user/ledger/tip", b"");
    let refused = Log::open(seams(&disk, 3)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the ledger has format bench-ledger 2, and this version reads bench-ledger 1"
    );
    let extended = rehash(
        &first
            .replace("\"format\":", "\"colour\":\"green\",\"format\":")
            .replace("meta_note", "telepathy")
            .replace("\"batch\":{\"i\":1,\"n\":2},", ""),
    );
    disk.write_file(
        ".user/ledger/events.jsonl",
        format!("{extended}\n").as_bytes(),
    );
    let view = open(&disk).view().unwrap();
    let row = view.event(EventId::GENESIS).unwrap();
    assert_eq!(row.event.body.action, Action::Other("telepathy".to_owned()));
    assert_eq!(&*row.line, extended.as_bytes());
}

#[test]
fn a_torn_tail_is_told_of_and_readers_leave_it_alone() {
    let disk = prepared();
    let whole = disk.read(".user/ledger/events.jsonl").unwrap();
    let tail = vec![0_u8; 5000];
    disk.write_file(".user/ledger/events.jsonl", &[&whole[..], &tail].concat());
    let log = open(&disk);
    assert_eq!(rationales(&log).len(), 3);
    assert_eq!(
        disk.read(".user/ledger/events.jsonl").unwrap().len(),
        whole.len() + 5000
    );
    log.append(batch(vec![body("next")])).unwrap();
    let offset = whole.len() as u64;
    let moved_to = layout::torn(offset, 0);
    assert_eq!(
        log.take_notices(),
        [Notice::TornTail {
            offset,
            bytes: 5000,
            moved_to: moved_to.clone()
        }]
    );
    let kept = disk
        .open(&moved_to, OpenMode::Read)
        .unwrap()
        .stat()
        .unwrap()
        .size;
    assert_eq!(kept, 5000);
}

#[test]
fn damage_says_file_byte_and_event() {
    let damage = Damage {
        file: ".user/ledger/events.jsonl".to_owned(),
        offset: 12,
        id: Some(EventId(3)),
        why: "the line has no end".to_owned(),
    };
    assert_eq!(
        damage.to_string(),
        ".user/ledger/events.jsonl, byte 12 (evt-000003): the line has no end"
    );
}
