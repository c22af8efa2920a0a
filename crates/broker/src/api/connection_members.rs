//! The members of groups whose requests came over a connection. Its end is reported to their coordinators
//! (`thalweg.group.disconnect.grace.ms`; what they do: `thalweg_groups::GroupEvent::Disconnected`).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use parking_lot::Mutex;
use thalweg_groups::ConnectionId;

use super::groups::shards;
use crate::api::services::Services;

/// Most members that are noted of one connection, and bytes of their names. Further ones are not noted: they
/// have their session timeout, as in Kafka.
const MEMBERS_MAX: usize = 1024;
const BYTES_MAX: usize = 64 << 10;

/// The members of one connection. The connection and its requests in hand share it; when the last of them drops it, its
/// `Drop` reports the members to their coordinators.
pub(crate) struct ConnectionMembers {
    services: Arc<Services>,
    /// Most connections never have any.
    noted: Mutex<Option<Box<Noted>>>,
}

struct Noted {
    connection: ConnectionId,
    /// By group.
    members: HashMap<Arc<str>, HashSet<Arc<str>>>,
    count: usize,
    bytes: usize,
}

impl Noted {
    /// Notes a member; `false` if there is no room.
    fn note(&mut self, group: &str, member: &str) -> bool {
        if self.members.get(group).is_some_and(|members| members.contains(member)) {
            return true;
        }
        let bytes = self.bytes + group.len() + member.len();
        if self.count >= MEMBERS_MAX || bytes > BYTES_MAX {
            return false;
        }
        self.count += 1;
        self.bytes = bytes;
        self.members.entry(group.into()).or_default().insert(member.into());
        true
    }
}

impl ConnectionMembers {
    pub(crate) fn new(services: &Arc<Services>) -> ConnectionMembers {
        ConnectionMembers { services: Arc::clone(services), noted: Mutex::default() }
    }

    /// A member sends a request over the connection. Gives the connection's id if the coordinator will hear of
    /// its end.
    pub(crate) fn note(&self, group: &str, member: &str) -> Option<ConnectionId> {
        if !self.services.coordination.groups().hears_of_disconnects(group) {
            return None;
        }
        let mut noted = self.noted.lock();
        let noted = noted.get_or_insert_with(|| {
            Box::new(Noted {
                connection: ConnectionId(self.services.front.sockets().next_connection_id()),
                members: HashMap::new(),
                count: 0,
                bytes: 0,
            })
        });
        noted.note(group, member).then_some(noted.connection)
    }
}

impl Drop for ConnectionMembers {
    fn drop(&mut self) {
        let Some(noted) = self.noted.get_mut().take() else { return };
        // It is the broker that goes, not its clients.
        if self.services.node.is_stopping() {
            return;
        }
        let partitions = shards(&self.services.replicas);
        for (group, members) in noted.members {
            for member in members {
                self.services.coordination.groups().disconnected(
                    &group,
                    partitions,
                    &member,
                    noted.connection,
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted() -> Noted {
        Noted { connection: ConnectionId(1), members: HashMap::new(), count: 0, bytes: 0 }
    }

    #[test]
    fn a_connection_notes_so_many_members() {
        let mut noted = noted();
        assert!((0..MEMBERS_MAX).all(|number| noted.note("g", &number.to_string())));
        assert!(!noted.note("g", "another") && !noted.note("h", "0"));
        // It knows those all the same.
        assert!(noted.note("g", "0"));
        assert_eq!(noted.count, MEMBERS_MAX);
    }

    #[test]
    fn a_connection_notes_so_many_bytes() {
        let mut noted = noted();
        let long = "m".repeat(BYTES_MAX / 2);
        assert!(noted.note("g", &long));
        assert!(!noted.note("h", &long));
        assert!(noted.note("g", &long));
        assert_eq!((noted.count, noted.bytes), (1, 1 + BYTES_MAX / 2));
    }
}
