//! A demo with `--web` stays when it has ended, and can be spoken to.

use crate::place::Place;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

#[test]
fn a_demo_that_is_served_stays_until_it_is_stopped_and_ends_well() {
    let place = Place::new();
    let (mut child, said) = place.demo_served();
    let address = said.iter().find(|line| line.contains("see it at http://127.0.0.1:"));
    assert!(address.is_some_and(|line| line.contains("token=")), "{said:?}");
    let done = place.run(&["interrupt", "lead"]);
    assert_eq!((done.code, done.out.as_str()), (Some(0), "lead has no open turn\n"), "{done:?}");
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGINT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let done = place.run(&["interrupt", "lead"]);
    assert_eq!(done.code, Some(2), "{done:?}");
}
