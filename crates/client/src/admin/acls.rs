//! Who may do what (ACLs).

use thalweg_wire::messages::create_acls_request::AclCreation;
use thalweg_wire::messages::delete_acls_request::DeleteAclsFilter;
use thalweg_wire::messages::{CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest};
use thalweg_wire::{ApiKey, ErrorCode};

use super::attempt::{Answers, for_all};
use super::{Admin, AdminError, AdminFuture, Results};
use crate::options::setters::setters;

macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $code:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
            /// One that this does not know.
            Other(i8),
        }

        impl $name {
            /// Its number in requests.
            pub fn code(self) -> i8 {
                match self {
                    $($name::$variant => $code,)*
                    $name::Other(code) => code,
                }
            }

            /// That with this number.
            pub fn from_code(code: i8) -> $name {
                match code {
                    $($code => $name::$variant,)*
                    other => $name::Other(other),
                }
            }
        }
    };
}

codes! {
    /// What is protected.
    AclResource {
        /// Topics.
        Topic = 2,
        /// Groups.
        Group = 3,
        /// The cluster, whose name is `kafka-cluster`.
        Cluster = 4,
        /// Transactional ids.
        TransactionalId = 5,
        /// Delegation tokens.
        DelegationToken = 6,
        /// Users.
        User = 7,
    }
}

codes! {
    /// How a name is meant.
    AclPattern {
        /// As it is, or `*` for all.
        Literal = 3,
        /// As the beginning of names.
        Prefixed = 4,
    }
}

codes! {
    /// What is done.
    #[allow(missing_docs)]
    AclOperation {
        All = 2,
        Read = 3,
        Write = 4,
        Create = 5,
        Delete = 6,
        Alter = 7,
        Describe = 8,
        ClusterAction = 9,
        DescribeConfigs = 10,
        AlterConfigs = 11,
        IdempotentWrite = 12,
        CreateTokens = 13,
        DescribeTokens = 14,
        TwoPhaseCommit = 15,
    }
}

codes! {
    /// Whether it may be done.
    AclPermission {
        /// It may not, whatever else allows it.
        Deny = 2,
        /// It may.
        Allow = 3,
    }
}

/// Code of filters that let everything through.
const ANY: i8 = 1;
/// Code of a pattern filter that finds whatever is about a name.
const MATCH: i8 = 2;

/// That someone may, or may not, do something.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AclBinding {
    /// What is protected.
    pub resource: AclResource,
    /// Its name.
    pub name: String,
    /// How the name is meant.
    pub pattern: AclPattern,
    /// Who: `User:alice`, or `User:*` for everybody.
    pub principal: String,
    /// From where: an address, or `*`.
    pub host: String,
    /// What.
    pub operation: AclOperation,
    /// Whether.
    pub permission: AclPermission,
}

/// Which bindings are meant; all by default.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[non_exhaustive]
pub struct AclFilter {
    /// On this.
    pub resource: Option<AclResource>,
    /// With this name.
    pub name: Option<String>,
    /// Whose name is meant like this; by default those with the name as it stands there.
    pub pattern: AclPatternFilter,
    /// Of this principal.
    pub principal: Option<String>,
    /// From this host.
    pub host: Option<String>,
    /// About this operation.
    pub operation: Option<AclOperation>,
    /// With this permission.
    pub permission: Option<AclPermission>,
}

/// How names of bindings may be meant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[non_exhaustive]
pub enum AclPatternFilter {
    /// In any way.
    #[default]
    Any,
    /// In any way that is about the name: as it is, as `*`, or as the beginning of it.
    Match,
    /// In this way.
    Only(AclPattern),
}

setters! {
    AclFilter {
        resource: Option<AclResource> => with_resource,
        name: Option<String> => with_name,
        pattern: AclPatternFilter => with_pattern,
        principal: Option<String> => with_principal,
        host: Option<String> => with_host,
        operation: Option<AclOperation> => with_operation,
        permission: Option<AclPermission> => with_permission,
    }
}

impl AclFilter {
    fn into_request(self) -> DeleteAclsFilter {
        DeleteAclsFilter {
            resource_type_filter: self.resource.map_or(ANY, AclResource::code),
            resource_name_filter: self.name,
            pattern_type_filter: match self.pattern {
                AclPatternFilter::Any => ANY,
                AclPatternFilter::Match => MATCH,
                AclPatternFilter::Only(pattern) => pattern.code(),
            },
            principal_filter: self.principal,
            host_filter: self.host,
            operation: self.operation.map_or(ANY, AclOperation::code),
            permission_type: self.permission.map_or(ANY, AclPermission::code),
            ..Default::default()
        }
    }
}

impl Admin {
    /// The bindings that match, sorted.
    pub fn describe_acls(
        &self,
        filter: AclFilter,
    ) -> AdminFuture<'_, Result<Vec<AclBinding>, AdminError>> {
        Box::pin(self.describe_acls_inner(filter))
    }

    async fn describe_acls_inner(&self, filter: AclFilter) -> Result<Vec<AclBinding>, AdminError> {
        let api = ApiKey::DESCRIBE_ACLS;
        let filter = filter.into_request();
        let request = DescribeAclsRequest {
            resource_type_filter: filter.resource_type_filter,
            resource_name_filter: filter.resource_name_filter,
            pattern_type_filter: filter.pattern_type_filter,
            principal_filter: filter.principal_filter,
            host_filter: filter.host_filter,
            operation: filter.operation,
            permission_type: filter.permission_type,
            ..Default::default()
        };
        let request = &request;
        self.settle_one(api, |_| async move {
            let response = self.cluster.send_any(request).await?;
            AdminError::check(api, response.error_code, response.error_message.as_deref())?;
            let bindings = response.resources.into_iter().flat_map(|resource| {
                let of = (resource.resource_type, resource.resource_name, resource.pattern_type);
                resource.acls.into_iter().map(move |acl| AclBinding {
                    resource: AclResource::from_code(of.0),
                    name: of.1.clone(),
                    pattern: AclPattern::from_code(of.2),
                    principal: acl.principal,
                    host: acl.host,
                    operation: AclOperation::from_code(acl.operation),
                    permission: AclPermission::from_code(acl.permission_type),
                })
            });
            let mut bindings: Vec<AclBinding> = bindings.collect();
            bindings.sort();
            Ok(bindings)
        })
        .await
    }

    /// Makes bindings; one that is there already stays.
    pub fn create_acls(
        &self,
        bindings: impl IntoIterator<Item = AclBinding>,
    ) -> AdminFuture<'_, Results<AclBinding, ()>> {
        fn boxed(
            admin: &Admin,
            bindings: Vec<AclBinding>,
        ) -> AdminFuture<'_, Results<AclBinding, ()>> {
            Box::pin(admin.create_acls_inner(bindings))
        }
        boxed(self, bindings.into_iter().collect())
    }

    async fn create_acls_inner(&self, bindings: Vec<AclBinding>) -> Results<AclBinding, ()> {
        let api = ApiKey::CREATE_ACLS;
        self.settle(api, bindings, |bindings, left| async move {
            let creation = |binding: &AclBinding| AclCreation {
                resource_type: binding.resource.code(),
                resource_name: binding.name.clone(),
                resource_pattern_type: binding.pattern.code(),
                principal: binding.principal.clone(),
                host: binding.host.clone(),
                operation: binding.operation.code(),
                permission_type: binding.permission.code(),
                ..Default::default()
            };
            let creations = bindings.iter().map(creation).collect();
            let request = CreateAclsRequest { creations, ..Default::default() };
            let sent = async { self.controller().await?.send_within(&request, left).await };
            match sent.await {
                // The answers are in the order of the questions.
                Ok(response) => bindings
                    .into_iter()
                    .zip(response.results)
                    .map(|(binding, result)| {
                        let message = result.error_message.as_deref();
                        (binding, AdminError::check(api, result.error_code, message))
                    })
                    .collect(),
                Err(error) => for_all(bindings, error),
            }
        })
        .await
    }

    /// Deletes the bindings that match; gives what each filter found, and whether it is gone.
    pub fn delete_acls(
        &self,
        filters: impl IntoIterator<Item = AclFilter>,
    ) -> AdminFuture<'_, Results<AclFilter, Results<AclBinding, ()>>> {
        fn boxed(
            admin: &Admin,
            filters: Vec<AclFilter>,
        ) -> AdminFuture<'_, Results<AclFilter, Results<AclBinding, ()>>> {
            Box::pin(admin.delete_acls_inner(filters))
        }
        boxed(self, filters.into_iter().collect())
    }

    async fn delete_acls_inner(
        &self,
        filters: Vec<AclFilter>,
    ) -> Results<AclFilter, Results<AclBinding, ()>> {
        let api = ApiKey::DELETE_ACLS;
        self.settle(api, filters, |filters, left| async move {
            let wanted = filters.iter().cloned().map(AclFilter::into_request).collect();
            let request = DeleteAclsRequest { filters: wanted, ..Default::default() };
            let sent = async { self.controller().await?.send_within(&request, left).await };
            let response = match sent.await {
                Ok(response) => response,
                Err(error) => return for_all(filters, error),
            };
            let answers: Answers<AclFilter, Results<AclBinding, ()>> = filters
                .into_iter()
                .zip(response.filter_results)
                .map(|(filter, result)| {
                    let message = result.error_message.as_deref();
                    let checked = AdminError::check(api, result.error_code, message);
                    let found = result.matching_acls.into_iter().map(|acl| {
                        let code: ErrorCode = acl.error_code;
                        let deleted = AdminError::check(api, code, acl.error_message.as_deref());
                        let binding = AclBinding {
                            resource: AclResource::from_code(acl.resource_type),
                            name: acl.resource_name,
                            pattern: AclPattern::from_code(acl.pattern_type),
                            principal: acl.principal,
                            host: acl.host,
                            operation: AclOperation::from_code(acl.operation),
                            permission: AclPermission::from_code(acl.permission_type),
                        };
                        (binding, deleted)
                    });
                    (filter, checked.map(|()| found.collect()))
                })
                .collect();
            answers
        })
        .await
    }
}
