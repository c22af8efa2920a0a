//! Every message by its name: for tools and tests that work with any of them.

use crate::table::Visit;

/// Every message with its first and last version, by name.
pub const MESSAGES: &[(&str, i16, i16)] = &[
    ("AbortTransactionRecord", 0, 0),
    ("AbortedTxn", 0, 0),
    ("AccessControlEntryRecord", 0, 0),
    ("AddOffsetsToTxnRequest", 0, 4),
    ("AddOffsetsToTxnResponse", 0, 4),
    ("AddPartitionsToTxnRequest", 0, 5),
    ("AddPartitionsToTxnResponse", 0, 5),
    ("AddRaftVoterRequest", 0, 1),
    ("AddRaftVoterResponse", 0, 1),
    ("AllocateProducerIdsRequest", 0, 0),
    ("AllocateProducerIdsResponse", 0, 0),
    ("AlterClientQuotasRequest", 0, 1),
    ("AlterClientQuotasResponse", 0, 1),
    ("AlterConfigsRequest", 0, 2),
    ("AlterConfigsResponse", 0, 2),
    ("AlterPartitionReassignmentsRequest", 0, 1),
    ("AlterPartitionReassignmentsResponse", 0, 1),
    ("AlterPartitionRequest", 2, 3),
    ("AlterPartitionResponse", 2, 3),
    ("AlterReplicaLogDirsRequest", 1, 2),
    ("AlterReplicaLogDirsResponse", 1, 2),
    ("AlterShareGroupOffsetsRequest", 0, 0),
    ("AlterShareGroupOffsetsResponse", 0, 0),
    ("AlterUserScramCredentialsRequest", 0, 0),
    ("AlterUserScramCredentialsResponse", 0, 0),
    ("ApiVersionsRequest", 0, 5),
    ("ApiVersionsResponse", 0, 5),
    ("AssignReplicasToDirsRequest", 0, 0),
    ("AssignReplicasToDirsResponse", 0, 0),
    ("BeginQuorumEpochRequest", 0, 1),
    ("BeginQuorumEpochResponse", 0, 1),
    ("BeginTransactionRecord", 0, 0),
    ("BrokerHeartbeatRequest", 0, 2),
    ("BrokerHeartbeatResponse", 0, 2),
    ("BrokerRegistrationChangeRecord", 0, 3),
    ("BrokerRegistrationRequest", 0, 4),
    ("BrokerRegistrationResponse", 0, 4),
    ("ClearElrRecord", 0, 0),
    ("ClientQuotaRecord", 0, 0),
    ("ConfigRecord", 0, 0),
    ("ConsumerGroupCurrentMemberAssignmentKey", 0, 0),
    ("ConsumerGroupCurrentMemberAssignmentValue", 0, 0),
    ("ConsumerGroupDescribeRequest", 0, 1),
    ("ConsumerGroupDescribeResponse", 0, 1),
    ("ConsumerGroupHeartbeatRequest", 0, 1),
    ("ConsumerGroupHeartbeatResponse", 0, 1),
    ("ConsumerGroupMemberMetadataKey", 0, 0),
    ("ConsumerGroupMemberMetadataValue", 0, 0),
    ("ConsumerGroupMetadataKey", 0, 0),
    ("ConsumerGroupMetadataValue", 0, 0),
    ("ConsumerGroupPartitionMetadataKey", 0, 0),
    ("ConsumerGroupPartitionMetadataValue", 0, 0),
    ("ConsumerGroupRegularExpressionKey", 0, 0),
    ("ConsumerGroupRegularExpressionValue", 0, 0),
    ("ConsumerGroupTargetAssignmentMemberKey", 0, 0),
    ("ConsumerGroupTargetAssignmentMemberValue", 0, 0),
    ("ConsumerGroupTargetAssignmentMetadataKey", 0, 0),
    ("ConsumerGroupTargetAssignmentMetadataValue", 0, 0),
    ("ConsumerProtocolAssignment", 0, 3),
    ("ConsumerProtocolSubscription", 0, 3),
    ("ControlRecordTypeSchema", 0, 0),
    ("ControllerRegistrationRequest", 0, 0),
    ("ControllerRegistrationResponse", 0, 0),
    ("CreateAclsRequest", 1, 3),
    ("CreateAclsResponse", 1, 3),
    ("CreateDelegationTokenRequest", 1, 3),
    ("CreateDelegationTokenResponse", 1, 3),
    ("CreatePartitionsRequest", 0, 3),
    ("CreatePartitionsResponse", 0, 3),
    ("CreateTopicsRequest", 2, 7),
    ("CreateTopicsResponse", 2, 7),
    ("DefaultPrincipalData", 0, 0),
    ("DelegationTokenRecord", 0, 0),
    ("DeleteAclsRequest", 1, 3),
    ("DeleteAclsResponse", 1, 3),
    ("DeleteGroupsRequest", 0, 3),
    ("DeleteGroupsResponse", 0, 3),
    ("DeleteRecordsRequest", 0, 2),
    ("DeleteRecordsResponse", 0, 2),
    ("DeleteShareGroupOffsetsRequest", 0, 0),
    ("DeleteShareGroupOffsetsResponse", 0, 0),
    ("DeleteShareGroupStateRequest", 0, 0),
    ("DeleteShareGroupStateResponse", 0, 0),
    ("DeleteTopicsRequest", 1, 6),
    ("DeleteTopicsResponse", 1, 6),
    ("DescribeAclsRequest", 1, 3),
    ("DescribeAclsResponse", 1, 3),
    ("DescribeClientQuotasRequest", 0, 1),
    ("DescribeClientQuotasResponse", 0, 1),
    ("DescribeClusterRequest", 0, 2),
    ("DescribeClusterResponse", 0, 2),
    ("DescribeConfigsRequest", 1, 4),
    ("DescribeConfigsResponse", 1, 4),
    ("DescribeDelegationTokenRequest", 1, 3),
    ("DescribeDelegationTokenResponse", 1, 3),
    ("DescribeGroupsRequest", 0, 6),
    ("DescribeGroupsResponse", 0, 6),
    ("DescribeLogDirsRequest", 1, 5),
    ("DescribeLogDirsResponse", 1, 5),
    ("DescribeProducersRequest", 0, 0),
    ("DescribeProducersResponse", 0, 0),
    ("DescribeQuorumRequest", 0, 2),
    ("DescribeQuorumResponse", 0, 2),
    ("DescribeShareGroupOffsetsRequest", 0, 1),
    ("DescribeShareGroupOffsetsResponse", 0, 1),
    ("DescribeTopicPartitionsRequest", 0, 0),
    ("DescribeTopicPartitionsResponse", 0, 0),
    ("DescribeTransactionsRequest", 0, 0),
    ("DescribeTransactionsResponse", 0, 0),
    ("DescribeUserScramCredentialsRequest", 0, 0),
    ("DescribeUserScramCredentialsResponse", 0, 0),
    ("ElectLeadersRequest", 0, 2),
    ("ElectLeadersResponse", 0, 2),
    ("EndQuorumEpochRequest", 0, 1),
    ("EndQuorumEpochResponse", 0, 1),
    ("EndTransactionRecord", 0, 0),
    ("EndTxnMarker", 0, 0),
    ("EndTxnRequest", 0, 5),
    ("EndTxnResponse", 0, 5),
    ("EnvelopeRequest", 0, 0),
    ("EnvelopeResponse", 0, 0),
    ("ExpireDelegationTokenRequest", 1, 2),
    ("ExpireDelegationTokenResponse", 1, 2),
    ("FeatureLevelRecord", 0, 0),
    ("FenceBrokerRecord", 0, 0),
    ("FetchRequest", 4, 18),
    ("FetchResponse", 4, 18),
    ("FetchSnapshotRequest", 0, 1),
    ("FetchSnapshotResponse", 0, 1),
    ("FindCoordinatorRequest", 0, 6),
    ("FindCoordinatorResponse", 0, 6),
    ("GetTelemetrySubscriptionsRequest", 0, 0),
    ("GetTelemetrySubscriptionsResponse", 0, 0),
    ("GroupMetadataKey", 0, 0),
    ("GroupMetadataValue", 0, 4),
    ("GroupRebalances", 0, 0),
    ("HeartbeatRequest", 0, 4),
    ("HeartbeatResponse", 0, 4),
    ("IncrementalAlterConfigsRequest", 0, 1),
    ("IncrementalAlterConfigsResponse", 0, 1),
    ("InitProducerIdRequest", 0, 6),
    ("InitProducerIdResponse", 0, 6),
    ("InitializeShareGroupStateRequest", 0, 0),
    ("InitializeShareGroupStateResponse", 0, 0),
    ("JoinGroupRequest", 0, 9),
    ("JoinGroupResponse", 0, 9),
    ("KRaftVersionRecord", 0, 0),
    ("LeaderChangeMessage", 0, 1),
    ("LeaveGroupRequest", 0, 5),
    ("LeaveGroupResponse", 0, 5),
    ("LegacyOffsetCommitKey", 0, 0),
    ("LegacyOffsetCommitValue", 0, 0),
    ("ListConfigResourcesRequest", 0, 1),
    ("ListConfigResourcesResponse", 0, 1),
    ("ListGroupsRequest", 0, 5),
    ("ListGroupsResponse", 0, 5),
    ("ListOffsetsRequest", 1, 11),
    ("ListOffsetsResponse", 1, 11),
    ("ListPartitionReassignmentsRequest", 0, 0),
    ("ListPartitionReassignmentsResponse", 0, 0),
    ("ListTransactionsRequest", 0, 2),
    ("ListTransactionsResponse", 0, 2),
    ("MetadataRequest", 0, 13),
    ("MetadataResponse", 0, 13),
    ("NoOpRecord", 0, 0),
    ("OffsetCommitKey", 0, 0),
    ("OffsetCommitRequest", 2, 10),
    ("OffsetCommitResponse", 2, 10),
    ("OffsetCommitValue", 0, 4),
    ("OffsetDeleteRequest", 0, 0),
    ("OffsetDeleteResponse", 0, 0),
    ("OffsetFetchRequest", 1, 10),
    ("OffsetFetchResponse", 1, 10),
    ("OffsetForLeaderEpochRequest", 2, 4),
    ("OffsetForLeaderEpochResponse", 2, 4),
    ("PartitionChangeRecord", 0, 2),
    ("PartitionRecord", 0, 2),
    ("ProduceRequest", 3, 13),
    ("ProduceResponse", 3, 13),
    ("ProducerIdsRecord", 0, 0),
    ("ProducerSnapshot", 1, 1),
    ("PushTelemetryRequest", 0, 0),
    ("PushTelemetryResponse", 0, 0),
    ("QuorumStateData", 0, 1),
    ("ReadShareGroupStateRequest", 0, 0),
    ("ReadShareGroupStateResponse", 0, 0),
    ("ReadShareGroupStateSummaryRequest", 0, 1),
    ("ReadShareGroupStateSummaryResponse", 0, 1),
    ("RegisterBrokerRecord", 0, 4),
    ("RegisterControllerRecord", 0, 0),
    ("RemoteLogSegmentMetadataRecord", 0, 0),
    ("RemoteLogSegmentMetadataSnapshotRecord", 0, 0),
    ("RemoteLogSegmentMetadataUpdateRecord", 0, 0),
    ("RemotePartitionDeleteMetadataRecord", 0, 0),
    ("RemoveAccessControlEntryRecord", 0, 0),
    ("RemoveDelegationTokenRecord", 0, 0),
    ("RemoveRaftVoterRequest", 0, 0),
    ("RemoveRaftVoterResponse", 0, 0),
    ("RemoveTopicRecord", 0, 0),
    ("RemoveUserScramCredentialRecord", 0, 0),
    ("RenewDelegationTokenRequest", 1, 2),
    ("RenewDelegationTokenResponse", 1, 2),
    ("RequestHeader", 1, 2),
    ("ResponseHeader", 0, 1),
    ("SaslAuthenticateRequest", 0, 2),
    ("SaslAuthenticateResponse", 0, 2),
    ("SaslHandshakeRequest", 0, 1),
    ("SaslHandshakeResponse", 0, 1),
    ("ShareAcknowledgeRequest", 1, 2),
    ("ShareAcknowledgeResponse", 1, 2),
    ("ShareFetchRequest", 1, 2),
    ("ShareFetchResponse", 1, 2),
    ("ShareGroupCurrentMemberAssignmentKey", 0, 0),
    ("ShareGroupCurrentMemberAssignmentValue", 0, 0),
    ("ShareGroupDescribeRequest", 1, 1),
    ("ShareGroupDescribeResponse", 1, 1),
    ("ShareGroupHeartbeatRequest", 1, 1),
    ("ShareGroupHeartbeatResponse", 1, 1),
    ("ShareGroupMemberMetadataKey", 0, 0),
    ("ShareGroupMemberMetadataValue", 0, 0),
    ("ShareGroupMetadataKey", 0, 0),
    ("ShareGroupMetadataValue", 0, 0),
    ("ShareGroupStatePartitionMetadataKey", 0, 0),
    ("ShareGroupStatePartitionMetadataValue", 0, 0),
    ("ShareGroupTargetAssignmentMemberKey", 0, 0),
    ("ShareGroupTargetAssignmentMemberValue", 0, 0),
    ("ShareGroupTargetAssignmentMetadataKey", 0, 0),
    ("ShareGroupTargetAssignmentMetadataValue", 0, 0),
    ("ShareSnapshotKey", 0, 0),
    ("ShareSnapshotValue", 0, 0),
    ("ShareUpdateKey", 0, 0),
    ("ShareUpdateValue", 0, 0),
    ("SnapshotFooterRecord", 0, 0),
    ("SnapshotHeaderRecord", 0, 0),
    ("StreamsGroupCurrentMemberAssignmentKey", 0, 0),
    ("StreamsGroupCurrentMemberAssignmentValue", 0, 0),
    ("StreamsGroupDescribeRequest", 0, 1),
    ("StreamsGroupDescribeResponse", 0, 1),
    ("StreamsGroupHeartbeatRequest", 0, 1),
    ("StreamsGroupHeartbeatResponse", 0, 1),
    ("StreamsGroupMemberMetadataKey", 0, 0),
    ("StreamsGroupMemberMetadataValue", 0, 0),
    ("StreamsGroupMetadataKey", 0, 0),
    ("StreamsGroupMetadataValue", 0, 0),
    ("StreamsGroupTargetAssignmentMemberKey", 0, 0),
    ("StreamsGroupTargetAssignmentMemberValue", 0, 0),
    ("StreamsGroupTargetAssignmentMetadataKey", 0, 0),
    ("StreamsGroupTargetAssignmentMetadataValue", 0, 0),
    ("StreamsGroupTopologyDescriptionUpdateRequest", 0, 0),
    ("StreamsGroupTopologyDescriptionUpdateResponse", 0, 0),
    ("StreamsGroupTopologyKey", 0, 0),
    ("StreamsGroupTopologyValue", 0, 0),
    ("SyncGroupRequest", 0, 5),
    ("SyncGroupResponse", 0, 5),
    ("TopicRecord", 0, 0),
    ("TransactionLogKey", 0, 0),
    ("TransactionLogValue", 0, 1),
    ("TxnOffsetCommitRequest", 0, 6),
    ("TxnOffsetCommitResponse", 0, 6),
    ("UnfenceBrokerRecord", 0, 0),
    ("UnregisterBrokerRecord", 0, 0),
    ("UnregisterBrokerRequest", 0, 0),
    ("UnregisterBrokerResponse", 0, 0),
    ("UnregisterControllerRecord", 0, 0),
    ("UnregisterControllerRequest", 0, 0),
    ("UnregisterControllerResponse", 0, 0),
    ("UpdateFeaturesRequest", 0, 2),
    ("UpdateFeaturesResponse", 0, 2),
    ("UpdateRaftVoterRequest", 0, 0),
    ("UpdateRaftVoterResponse", 0, 0),
    ("UserScramCredentialRecord", 0, 0),
    ("VoteRequest", 0, 2),
    ("VoteResponse", 0, 2),
    ("VotersRecord", 0, 0),
    ("WriteShareGroupStateRequest", 0, 1),
    ("WriteShareGroupStateResponse", 0, 1),
    ("WriteTxnMarkersRequest", 1, 2),
    ("WriteTxnMarkersResponse", 1, 2),
    ("ZkMigrationStateRecord", 0, 0),
];

/// Calls `visitor` with the type of the named message; `None` when there is none of that name.
pub fn visit<V: Visit>(name: &str, visitor: V) -> Option<V::Output> {
    Some(match name {
        "AbortTransactionRecord" => visitor.visit::<super::AbortTransactionRecord>(),
        "AbortedTxn" => visitor.visit::<super::AbortedTxn>(),
        "AccessControlEntryRecord" => visitor.visit::<super::AccessControlEntryRecord>(),
        "AddOffsetsToTxnRequest" => visitor.visit::<super::AddOffsetsToTxnRequest>(),
        "AddOffsetsToTxnResponse" => visitor.visit::<super::AddOffsetsToTxnResponse>(),
        "AddPartitionsToTxnRequest" => visitor.visit::<super::AddPartitionsToTxnRequest>(),
        "AddPartitionsToTxnResponse" => visitor.visit::<super::AddPartitionsToTxnResponse>(),
        "AddRaftVoterRequest" => visitor.visit::<super::AddRaftVoterRequest>(),
        "AddRaftVoterResponse" => visitor.visit::<super::AddRaftVoterResponse>(),
        "AllocateProducerIdsRequest" => visitor.visit::<super::AllocateProducerIdsRequest>(),
        "AllocateProducerIdsResponse" => visitor.visit::<super::AllocateProducerIdsResponse>(),
        "AlterClientQuotasRequest" => visitor.visit::<super::AlterClientQuotasRequest>(),
        "AlterClientQuotasResponse" => visitor.visit::<super::AlterClientQuotasResponse>(),
        "AlterConfigsRequest" => visitor.visit::<super::AlterConfigsRequest>(),
        "AlterConfigsResponse" => visitor.visit::<super::AlterConfigsResponse>(),
        "AlterPartitionReassignmentsRequest" => {
            visitor.visit::<super::AlterPartitionReassignmentsRequest>()
        }
        "AlterPartitionReassignmentsResponse" => {
            visitor.visit::<super::AlterPartitionReassignmentsResponse>()
        }
        "AlterPartitionRequest" => visitor.visit::<super::AlterPartitionRequest>(),
        "AlterPartitionResponse" => visitor.visit::<super::AlterPartitionResponse>(),
        "AlterReplicaLogDirsRequest" => visitor.visit::<super::AlterReplicaLogDirsRequest>(),
        "AlterReplicaLogDirsResponse" => visitor.visit::<super::AlterReplicaLogDirsResponse>(),
        "AlterShareGroupOffsetsRequest" => visitor.visit::<super::AlterShareGroupOffsetsRequest>(),
        "AlterShareGroupOffsetsResponse" => {
            visitor.visit::<super::AlterShareGroupOffsetsResponse>()
        }
        "AlterUserScramCredentialsRequest" => {
            visitor.visit::<super::AlterUserScramCredentialsRequest>()
        }
        "AlterUserScramCredentialsResponse" => {
            visitor.visit::<super::AlterUserScramCredentialsResponse>()
        }
        "ApiVersionsRequest" => visitor.visit::<super::ApiVersionsRequest>(),
        "ApiVersionsResponse" => visitor.visit::<super::ApiVersionsResponse>(),
        "AssignReplicasToDirsRequest" => visitor.visit::<super::AssignReplicasToDirsRequest>(),
        "AssignReplicasToDirsResponse" => visitor.visit::<super::AssignReplicasToDirsResponse>(),
        "BeginQuorumEpochRequest" => visitor.visit::<super::BeginQuorumEpochRequest>(),
        "BeginQuorumEpochResponse" => visitor.visit::<super::BeginQuorumEpochResponse>(),
        "BeginTransactionRecord" => visitor.visit::<super::BeginTransactionRecord>(),
        "BrokerHeartbeatRequest" => visitor.visit::<super::BrokerHeartbeatRequest>(),
        "BrokerHeartbeatResponse" => visitor.visit::<super::BrokerHeartbeatResponse>(),
        "BrokerRegistrationChangeRecord" => {
            visitor.visit::<super::BrokerRegistrationChangeRecord>()
        }
        "BrokerRegistrationRequest" => visitor.visit::<super::BrokerRegistrationRequest>(),
        "BrokerRegistrationResponse" => visitor.visit::<super::BrokerRegistrationResponse>(),
        "ClearElrRecord" => visitor.visit::<super::ClearElrRecord>(),
        "ClientQuotaRecord" => visitor.visit::<super::ClientQuotaRecord>(),
        "ConfigRecord" => visitor.visit::<super::ConfigRecord>(),
        "ConsumerGroupCurrentMemberAssignmentKey" => {
            visitor.visit::<super::ConsumerGroupCurrentMemberAssignmentKey>()
        }
        "ConsumerGroupCurrentMemberAssignmentValue" => {
            visitor.visit::<super::ConsumerGroupCurrentMemberAssignmentValue>()
        }
        "ConsumerGroupDescribeRequest" => visitor.visit::<super::ConsumerGroupDescribeRequest>(),
        "ConsumerGroupDescribeResponse" => visitor.visit::<super::ConsumerGroupDescribeResponse>(),
        "ConsumerGroupHeartbeatRequest" => visitor.visit::<super::ConsumerGroupHeartbeatRequest>(),
        "ConsumerGroupHeartbeatResponse" => {
            visitor.visit::<super::ConsumerGroupHeartbeatResponse>()
        }
        "ConsumerGroupMemberMetadataKey" => {
            visitor.visit::<super::ConsumerGroupMemberMetadataKey>()
        }
        "ConsumerGroupMemberMetadataValue" => {
            visitor.visit::<super::ConsumerGroupMemberMetadataValue>()
        }
        "ConsumerGroupMetadataKey" => visitor.visit::<super::ConsumerGroupMetadataKey>(),
        "ConsumerGroupMetadataValue" => visitor.visit::<super::ConsumerGroupMetadataValue>(),
        "ConsumerGroupPartitionMetadataKey" => {
            visitor.visit::<super::ConsumerGroupPartitionMetadataKey>()
        }
        "ConsumerGroupPartitionMetadataValue" => {
            visitor.visit::<super::ConsumerGroupPartitionMetadataValue>()
        }
        "ConsumerGroupRegularExpressionKey" => {
            visitor.visit::<super::ConsumerGroupRegularExpressionKey>()
        }
        "ConsumerGroupRegularExpressionValue" => {
            visitor.visit::<super::ConsumerGroupRegularExpressionValue>()
        }
        "ConsumerGroupTargetAssignmentMemberKey" => {
            visitor.visit::<super::ConsumerGroupTargetAssignmentMemberKey>()
        }
        "ConsumerGroupTargetAssignmentMemberValue" => {
            visitor.visit::<super::ConsumerGroupTargetAssignmentMemberValue>()
        }
        "ConsumerGroupTargetAssignmentMetadataKey" => {
            visitor.visit::<super::ConsumerGroupTargetAssignmentMetadataKey>()
        }
        "ConsumerGroupTargetAssignmentMetadataValue" => {
            visitor.visit::<super::ConsumerGroupTargetAssignmentMetadataValue>()
        }
        "ConsumerProtocolAssignment" => visitor.visit::<super::ConsumerProtocolAssignment>(),
        "ConsumerProtocolSubscription" => visitor.visit::<super::ConsumerProtocolSubscription>(),
        "ControlRecordTypeSchema" => visitor.visit::<super::ControlRecordTypeSchema>(),
        "ControllerRegistrationRequest" => visitor.visit::<super::ControllerRegistrationRequest>(),
        "ControllerRegistrationResponse" => {
            visitor.visit::<super::ControllerRegistrationResponse>()
        }
        "CreateAclsRequest" => visitor.visit::<super::CreateAclsRequest>(),
        "CreateAclsResponse" => visitor.visit::<super::CreateAclsResponse>(),
        "CreateDelegationTokenRequest" => visitor.visit::<super::CreateDelegationTokenRequest>(),
        "CreateDelegationTokenResponse" => visitor.visit::<super::CreateDelegationTokenResponse>(),
        "CreatePartitionsRequest" => visitor.visit::<super::CreatePartitionsRequest>(),
        "CreatePartitionsResponse" => visitor.visit::<super::CreatePartitionsResponse>(),
        "CreateTopicsRequest" => visitor.visit::<super::CreateTopicsRequest>(),
        "CreateTopicsResponse" => visitor.visit::<super::CreateTopicsResponse>(),
        "DefaultPrincipalData" => visitor.visit::<super::DefaultPrincipalData>(),
        "DelegationTokenRecord" => visitor.visit::<super::DelegationTokenRecord>(),
        "DeleteAclsRequest" => visitor.visit::<super::DeleteAclsRequest>(),
        "DeleteAclsResponse" => visitor.visit::<super::DeleteAclsResponse>(),
        "DeleteGroupsRequest" => visitor.visit::<super::DeleteGroupsRequest>(),
        "DeleteGroupsResponse" => visitor.visit::<super::DeleteGroupsResponse>(),
        "DeleteRecordsRequest" => visitor.visit::<super::DeleteRecordsRequest>(),
        "DeleteRecordsResponse" => visitor.visit::<super::DeleteRecordsResponse>(),
        "DeleteShareGroupOffsetsRequest" => {
            visitor.visit::<super::DeleteShareGroupOffsetsRequest>()
        }
        "DeleteShareGroupOffsetsResponse" => {
            visitor.visit::<super::DeleteShareGroupOffsetsResponse>()
        }
        "DeleteShareGroupStateRequest" => visitor.visit::<super::DeleteShareGroupStateRequest>(),
        "DeleteShareGroupStateResponse" => visitor.visit::<super::DeleteShareGroupStateResponse>(),
        "DeleteTopicsRequest" => visitor.visit::<super::DeleteTopicsRequest>(),
        "DeleteTopicsResponse" => visitor.visit::<super::DeleteTopicsResponse>(),
        "DescribeAclsRequest" => visitor.visit::<super::DescribeAclsRequest>(),
        "DescribeAclsResponse" => visitor.visit::<super::DescribeAclsResponse>(),
        "DescribeClientQuotasRequest" => visitor.visit::<super::DescribeClientQuotasRequest>(),
        "DescribeClientQuotasResponse" => visitor.visit::<super::DescribeClientQuotasResponse>(),
        "DescribeClusterRequest" => visitor.visit::<super::DescribeClusterRequest>(),
        "DescribeClusterResponse" => visitor.visit::<super::DescribeClusterResponse>(),
        "DescribeConfigsRequest" => visitor.visit::<super::DescribeConfigsRequest>(),
        "DescribeConfigsResponse" => visitor.visit::<super::DescribeConfigsResponse>(),
        "DescribeDelegationTokenRequest" => {
            visitor.visit::<super::DescribeDelegationTokenRequest>()
        }
        "DescribeDelegationTokenResponse" => {
            visitor.visit::<super::DescribeDelegationTokenResponse>()
        }
        "DescribeGroupsRequest" => visitor.visit::<super::DescribeGroupsRequest>(),
        "DescribeGroupsResponse" => visitor.visit::<super::DescribeGroupsResponse>(),
        "DescribeLogDirsRequest" => visitor.visit::<super::DescribeLogDirsRequest>(),
        "DescribeLogDirsResponse" => visitor.visit::<super::DescribeLogDirsResponse>(),
        "DescribeProducersRequest" => visitor.visit::<super::DescribeProducersRequest>(),
        "DescribeProducersResponse" => visitor.visit::<super::DescribeProducersResponse>(),
        "DescribeQuorumRequest" => visitor.visit::<super::DescribeQuorumRequest>(),
        "DescribeQuorumResponse" => visitor.visit::<super::DescribeQuorumResponse>(),
        "DescribeShareGroupOffsetsRequest" => {
            visitor.visit::<super::DescribeShareGroupOffsetsRequest>()
        }
        "DescribeShareGroupOffsetsResponse" => {
            visitor.visit::<super::DescribeShareGroupOffsetsResponse>()
        }
        "DescribeTopicPartitionsRequest" => {
            visitor.visit::<super::DescribeTopicPartitionsRequest>()
        }
        "DescribeTopicPartitionsResponse" => {
            visitor.visit::<super::DescribeTopicPartitionsResponse>()
        }
        "DescribeTransactionsRequest" => visitor.visit::<super::DescribeTransactionsRequest>(),
        "DescribeTransactionsResponse" => visitor.visit::<super::DescribeTransactionsResponse>(),
        "DescribeUserScramCredentialsRequest" => {
            visitor.visit::<super::DescribeUserScramCredentialsRequest>()
        }
        "DescribeUserScramCredentialsResponse" => {
            visitor.visit::<super::DescribeUserScramCredentialsResponse>()
        }
        "ElectLeadersRequest" => visitor.visit::<super::ElectLeadersRequest>(),
        "ElectLeadersResponse" => visitor.visit::<super::ElectLeadersResponse>(),
        "EndQuorumEpochRequest" => visitor.visit::<super::EndQuorumEpochRequest>(),
        "EndQuorumEpochResponse" => visitor.visit::<super::EndQuorumEpochResponse>(),
        "EndTransactionRecord" => visitor.visit::<super::EndTransactionRecord>(),
        "EndTxnMarker" => visitor.visit::<super::EndTxnMarker>(),
        "EndTxnRequest" => visitor.visit::<super::EndTxnRequest>(),
        "EndTxnResponse" => visitor.visit::<super::EndTxnResponse>(),
        "EnvelopeRequest" => visitor.visit::<super::EnvelopeRequest>(),
        "EnvelopeResponse" => visitor.visit::<super::EnvelopeResponse>(),
        "ExpireDelegationTokenRequest" => visitor.visit::<super::ExpireDelegationTokenRequest>(),
        "ExpireDelegationTokenResponse" => visitor.visit::<super::ExpireDelegationTokenResponse>(),
        "FeatureLevelRecord" => visitor.visit::<super::FeatureLevelRecord>(),
        "FenceBrokerRecord" => visitor.visit::<super::FenceBrokerRecord>(),
        "FetchRequest" => visitor.visit::<super::FetchRequest>(),
        "FetchResponse" => visitor.visit::<super::FetchResponse>(),
        "FetchSnapshotRequest" => visitor.visit::<super::FetchSnapshotRequest>(),
        "FetchSnapshotResponse" => visitor.visit::<super::FetchSnapshotResponse>(),
        "FindCoordinatorRequest" => visitor.visit::<super::FindCoordinatorRequest>(),
        "FindCoordinatorResponse" => visitor.visit::<super::FindCoordinatorResponse>(),
        "GetTelemetrySubscriptionsRequest" => {
            visitor.visit::<super::GetTelemetrySubscriptionsRequest>()
        }
        "GetTelemetrySubscriptionsResponse" => {
            visitor.visit::<super::GetTelemetrySubscriptionsResponse>()
        }
        "GroupMetadataKey" => visitor.visit::<super::GroupMetadataKey>(),
        "GroupMetadataValue" => visitor.visit::<super::GroupMetadataValue>(),
        "GroupRebalances" => visitor.visit::<super::GroupRebalances>(),
        "HeartbeatRequest" => visitor.visit::<super::HeartbeatRequest>(),
        "HeartbeatResponse" => visitor.visit::<super::HeartbeatResponse>(),
        "IncrementalAlterConfigsRequest" => {
            visitor.visit::<super::IncrementalAlterConfigsRequest>()
        }
        "IncrementalAlterConfigsResponse" => {
            visitor.visit::<super::IncrementalAlterConfigsResponse>()
        }
        "InitProducerIdRequest" => visitor.visit::<super::InitProducerIdRequest>(),
        "InitProducerIdResponse" => visitor.visit::<super::InitProducerIdResponse>(),
        "InitializeShareGroupStateRequest" => {
            visitor.visit::<super::InitializeShareGroupStateRequest>()
        }
        "InitializeShareGroupStateResponse" => {
            visitor.visit::<super::InitializeShareGroupStateResponse>()
        }
        "JoinGroupRequest" => visitor.visit::<super::JoinGroupRequest>(),
        "JoinGroupResponse" => visitor.visit::<super::JoinGroupResponse>(),
        "KRaftVersionRecord" => visitor.visit::<super::KRaftVersionRecord>(),
        "LeaderChangeMessage" => visitor.visit::<super::LeaderChangeMessage>(),
        "LeaveGroupRequest" => visitor.visit::<super::LeaveGroupRequest>(),
        "LeaveGroupResponse" => visitor.visit::<super::LeaveGroupResponse>(),
        "LegacyOffsetCommitKey" => visitor.visit::<super::LegacyOffsetCommitKey>(),
        "LegacyOffsetCommitValue" => visitor.visit::<super::LegacyOffsetCommitValue>(),
        "ListConfigResourcesRequest" => visitor.visit::<super::ListConfigResourcesRequest>(),
        "ListConfigResourcesResponse" => visitor.visit::<super::ListConfigResourcesResponse>(),
        "ListGroupsRequest" => visitor.visit::<super::ListGroupsRequest>(),
        "ListGroupsResponse" => visitor.visit::<super::ListGroupsResponse>(),
        "ListOffsetsRequest" => visitor.visit::<super::ListOffsetsRequest>(),
        "ListOffsetsResponse" => visitor.visit::<super::ListOffsetsResponse>(),
        "ListPartitionReassignmentsRequest" => {
            visitor.visit::<super::ListPartitionReassignmentsRequest>()
        }
        "ListPartitionReassignmentsResponse" => {
            visitor.visit::<super::ListPartitionReassignmentsResponse>()
        }
        "ListTransactionsRequest" => visitor.visit::<super::ListTransactionsRequest>(),
        "ListTransactionsResponse" => visitor.visit::<super::ListTransactionsResponse>(),
        "MetadataRequest" => visitor.visit::<super::MetadataRequest>(),
        "MetadataResponse" => visitor.visit::<super::MetadataResponse>(),
        "NoOpRecord" => visitor.visit::<super::NoOpRecord>(),
        "OffsetCommitKey" => visitor.visit::<super::OffsetCommitKey>(),
        "OffsetCommitRequest" => visitor.visit::<super::OffsetCommitRequest>(),
        "OffsetCommitResponse" => visitor.visit::<super::OffsetCommitResponse>(),
        "OffsetCommitValue" => visitor.visit::<super::OffsetCommitValue>(),
        "OffsetDeleteRequest" => visitor.visit::<super::OffsetDeleteRequest>(),
        "OffsetDeleteResponse" => visitor.visit::<super::OffsetDeleteResponse>(),
        "OffsetFetchRequest" => visitor.visit::<super::OffsetFetchRequest>(),
        "OffsetFetchResponse" => visitor.visit::<super::OffsetFetchResponse>(),
        "OffsetForLeaderEpochRequest" => visitor.visit::<super::OffsetForLeaderEpochRequest>(),
        "OffsetForLeaderEpochResponse" => visitor.visit::<super::OffsetForLeaderEpochResponse>(),
        "PartitionChangeRecord" => visitor.visit::<super::PartitionChangeRecord>(),
        "PartitionRecord" => visitor.visit::<super::PartitionRecord>(),
        "ProduceRequest" => visitor.visit::<super::ProduceRequest>(),
        "ProduceResponse" => visitor.visit::<super::ProduceResponse>(),
        "ProducerIdsRecord" => visitor.visit::<super::ProducerIdsRecord>(),
        "ProducerSnapshot" => visitor.visit::<super::ProducerSnapshot>(),
        "PushTelemetryRequest" => visitor.visit::<super::PushTelemetryRequest>(),
        "PushTelemetryResponse" => visitor.visit::<super::PushTelemetryResponse>(),
        "QuorumStateData" => visitor.visit::<super::QuorumStateData>(),
        "ReadShareGroupStateRequest" => visitor.visit::<super::ReadShareGroupStateRequest>(),
        "ReadShareGroupStateResponse" => visitor.visit::<super::ReadShareGroupStateResponse>(),
        "ReadShareGroupStateSummaryRequest" => {
            visitor.visit::<super::ReadShareGroupStateSummaryRequest>()
        }
        "ReadShareGroupStateSummaryResponse" => {
            visitor.visit::<super::ReadShareGroupStateSummaryResponse>()
        }
        "RegisterBrokerRecord" => visitor.visit::<super::RegisterBrokerRecord>(),
        "RegisterControllerRecord" => visitor.visit::<super::RegisterControllerRecord>(),
        "RemoteLogSegmentMetadataRecord" => {
            visitor.visit::<super::RemoteLogSegmentMetadataRecord>()
        }
        "RemoteLogSegmentMetadataSnapshotRecord" => {
            visitor.visit::<super::RemoteLogSegmentMetadataSnapshotRecord>()
        }
        "RemoteLogSegmentMetadataUpdateRecord" => {
            visitor.visit::<super::RemoteLogSegmentMetadataUpdateRecord>()
        }
        "RemotePartitionDeleteMetadataRecord" => {
            visitor.visit::<super::RemotePartitionDeleteMetadataRecord>()
        }
        "RemoveAccessControlEntryRecord" => {
            visitor.visit::<super::RemoveAccessControlEntryRecord>()
        }
        "RemoveDelegationTokenRecord" => visitor.visit::<super::RemoveDelegationTokenRecord>(),
        "RemoveRaftVoterRequest" => visitor.visit::<super::RemoveRaftVoterRequest>(),
        "RemoveRaftVoterResponse" => visitor.visit::<super::RemoveRaftVoterResponse>(),
        "RemoveTopicRecord" => visitor.visit::<super::RemoveTopicRecord>(),
        "RemoveUserScramCredentialRecord" => {
            visitor.visit::<super::RemoveUserScramCredentialRecord>()
        }
        "RenewDelegationTokenRequest" => visitor.visit::<super::RenewDelegationTokenRequest>(),
        "RenewDelegationTokenResponse" => visitor.visit::<super::RenewDelegationTokenResponse>(),
        "RequestHeader" => visitor.visit::<super::RequestHeader>(),
        "ResponseHeader" => visitor.visit::<super::ResponseHeader>(),
        "SaslAuthenticateRequest" => visitor.visit::<super::SaslAuthenticateRequest>(),
        "SaslAuthenticateResponse" => visitor.visit::<super::SaslAuthenticateResponse>(),
        "SaslHandshakeRequest" => visitor.visit::<super::SaslHandshakeRequest>(),
        "SaslHandshakeResponse" => visitor.visit::<super::SaslHandshakeResponse>(),
        "ShareAcknowledgeRequest" => visitor.visit::<super::ShareAcknowledgeRequest>(),
        "ShareAcknowledgeResponse" => visitor.visit::<super::ShareAcknowledgeResponse>(),
        "ShareFetchRequest" => visitor.visit::<super::ShareFetchRequest>(),
        "ShareFetchResponse" => visitor.visit::<super::ShareFetchResponse>(),
        "ShareGroupCurrentMemberAssignmentKey" => {
            visitor.visit::<super::ShareGroupCurrentMemberAssignmentKey>()
        }
        "ShareGroupCurrentMemberAssignmentValue" => {
            visitor.visit::<super::ShareGroupCurrentMemberAssignmentValue>()
        }
        "ShareGroupDescribeRequest" => visitor.visit::<super::ShareGroupDescribeRequest>(),
        "ShareGroupDescribeResponse" => visitor.visit::<super::ShareGroupDescribeResponse>(),
        "ShareGroupHeartbeatRequest" => visitor.visit::<super::ShareGroupHeartbeatRequest>(),
        "ShareGroupHeartbeatResponse" => visitor.visit::<super::ShareGroupHeartbeatResponse>(),
        "ShareGroupMemberMetadataKey" => visitor.visit::<super::ShareGroupMemberMetadataKey>(),
        "ShareGroupMemberMetadataValue" => visitor.visit::<super::ShareGroupMemberMetadataValue>(),
        "ShareGroupMetadataKey" => visitor.visit::<super::ShareGroupMetadataKey>(),
        "ShareGroupMetadataValue" => visitor.visit::<super::ShareGroupMetadataValue>(),
        "ShareGroupStatePartitionMetadataKey" => {
            visitor.visit::<super::ShareGroupStatePartitionMetadataKey>()
        }
        "ShareGroupStatePartitionMetadataValue" => {
            visitor.visit::<super::ShareGroupStatePartitionMetadataValue>()
        }
        "ShareGroupTargetAssignmentMemberKey" => {
            visitor.visit::<super::ShareGroupTargetAssignmentMemberKey>()
        }
        "ShareGroupTargetAssignmentMemberValue" => {
            visitor.visit::<super::ShareGroupTargetAssignmentMemberValue>()
        }
        "ShareGroupTargetAssignmentMetadataKey" => {
            visitor.visit::<super::ShareGroupTargetAssignmentMetadataKey>()
        }
        "ShareGroupTargetAssignmentMetadataValue" => {
            visitor.visit::<super::ShareGroupTargetAssignmentMetadataValue>()
        }
        "ShareSnapshotKey" => visitor.visit::<super::ShareSnapshotKey>(),
        "ShareSnapshotValue" => visitor.visit::<super::ShareSnapshotValue>(),
        "ShareUpdateKey" => visitor.visit::<super::ShareUpdateKey>(),
        "ShareUpdateValue" => visitor.visit::<super::ShareUpdateValue>(),
        "SnapshotFooterRecord" => visitor.visit::<super::SnapshotFooterRecord>(),
        "SnapshotHeaderRecord" => visitor.visit::<super::SnapshotHeaderRecord>(),
        "StreamsGroupCurrentMemberAssignmentKey" => {
            visitor.visit::<super::StreamsGroupCurrentMemberAssignmentKey>()
        }
        "StreamsGroupCurrentMemberAssignmentValue" => {
            visitor.visit::<super::StreamsGroupCurrentMemberAssignmentValue>()
        }
        "StreamsGroupDescribeRequest" => visitor.visit::<super::StreamsGroupDescribeRequest>(),
        "StreamsGroupDescribeResponse" => visitor.visit::<super::StreamsGroupDescribeResponse>(),
        "StreamsGroupHeartbeatRequest" => visitor.visit::<super::StreamsGroupHeartbeatRequest>(),
        "StreamsGroupHeartbeatResponse" => visitor.visit::<super::StreamsGroupHeartbeatResponse>(),
        "StreamsGroupMemberMetadataKey" => visitor.visit::<super::StreamsGroupMemberMetadataKey>(),
        "StreamsGroupMemberMetadataValue" => {
            visitor.visit::<super::StreamsGroupMemberMetadataValue>()
        }
        "StreamsGroupMetadataKey" => visitor.visit::<super::StreamsGroupMetadataKey>(),
        "StreamsGroupMetadataValue" => visitor.visit::<super::StreamsGroupMetadataValue>(),
        "StreamsGroupTargetAssignmentMemberKey" => {
            visitor.visit::<super::StreamsGroupTargetAssignmentMemberKey>()
        }
        "StreamsGroupTargetAssignmentMemberValue" => {
            visitor.visit::<super::StreamsGroupTargetAssignmentMemberValue>()
        }
        "StreamsGroupTargetAssignmentMetadataKey" => {
            visitor.visit::<super::StreamsGroupTargetAssignmentMetadataKey>()
        }
        "StreamsGroupTargetAssignmentMetadataValue" => {
            visitor.visit::<super::StreamsGroupTargetAssignmentMetadataValue>()
        }
        "StreamsGroupTopologyDescriptionUpdateRequest" => {
            visitor.visit::<super::StreamsGroupTopologyDescriptionUpdateRequest>()
        }
        "StreamsGroupTopologyDescriptionUpdateResponse" => {
            visitor.visit::<super::StreamsGroupTopologyDescriptionUpdateResponse>()
        }
        "StreamsGroupTopologyKey" => visitor.visit::<super::StreamsGroupTopologyKey>(),
        "StreamsGroupTopologyValue" => visitor.visit::<super::StreamsGroupTopologyValue>(),
        "SyncGroupRequest" => visitor.visit::<super::SyncGroupRequest>(),
        "SyncGroupResponse" => visitor.visit::<super::SyncGroupResponse>(),
        "TopicRecord" => visitor.visit::<super::TopicRecord>(),
        "TransactionLogKey" => visitor.visit::<super::TransactionLogKey>(),
        "TransactionLogValue" => visitor.visit::<super::TransactionLogValue>(),
        "TxnOffsetCommitRequest" => visitor.visit::<super::TxnOffsetCommitRequest>(),
        "TxnOffsetCommitResponse" => visitor.visit::<super::TxnOffsetCommitResponse>(),
        "UnfenceBrokerRecord" => visitor.visit::<super::UnfenceBrokerRecord>(),
        "UnregisterBrokerRecord" => visitor.visit::<super::UnregisterBrokerRecord>(),
        "UnregisterBrokerRequest" => visitor.visit::<super::UnregisterBrokerRequest>(),
        "UnregisterBrokerResponse" => visitor.visit::<super::UnregisterBrokerResponse>(),
        "UnregisterControllerRecord" => visitor.visit::<super::UnregisterControllerRecord>(),
        "UnregisterControllerRequest" => visitor.visit::<super::UnregisterControllerRequest>(),
        "UnregisterControllerResponse" => visitor.visit::<super::UnregisterControllerResponse>(),
        "UpdateFeaturesRequest" => visitor.visit::<super::UpdateFeaturesRequest>(),
        "UpdateFeaturesResponse" => visitor.visit::<super::UpdateFeaturesResponse>(),
        "UpdateRaftVoterRequest" => visitor.visit::<super::UpdateRaftVoterRequest>(),
        "UpdateRaftVoterResponse" => visitor.visit::<super::UpdateRaftVoterResponse>(),
        "UserScramCredentialRecord" => visitor.visit::<super::UserScramCredentialRecord>(),
        "VoteRequest" => visitor.visit::<super::VoteRequest>(),
        "VoteResponse" => visitor.visit::<super::VoteResponse>(),
        "VotersRecord" => visitor.visit::<super::VotersRecord>(),
        "WriteShareGroupStateRequest" => visitor.visit::<super::WriteShareGroupStateRequest>(),
        "WriteShareGroupStateResponse" => visitor.visit::<super::WriteShareGroupStateResponse>(),
        "WriteTxnMarkersRequest" => visitor.visit::<super::WriteTxnMarkersRequest>(),
        "WriteTxnMarkersResponse" => visitor.visit::<super::WriteTxnMarkersResponse>(),
        "ZkMigrationStateRecord" => visitor.visit::<super::ZkMigrationStateRecord>(),
        _ => return None,
    })
}

/// Calls `visitor` with the type of the named record, which has a form in JSON; `None` when there is none of that name.
#[cfg(any(feature = "json", feature = "record-json"))]
pub fn visit_record_in_json<V: crate::json::VisitJson>(
    name: &str,
    visitor: V,
) -> Option<V::Output> {
    Some(match name {
        "AbortTransactionRecord" => visitor.visit::<super::AbortTransactionRecord>(),
        "AbortedTxn" => visitor.visit::<super::AbortedTxn>(),
        "AccessControlEntryRecord" => visitor.visit::<super::AccessControlEntryRecord>(),
        "BeginTransactionRecord" => visitor.visit::<super::BeginTransactionRecord>(),
        "BrokerRegistrationChangeRecord" => {
            visitor.visit::<super::BrokerRegistrationChangeRecord>()
        }
        "ClearElrRecord" => visitor.visit::<super::ClearElrRecord>(),
        "ClientQuotaRecord" => visitor.visit::<super::ClientQuotaRecord>(),
        "ConfigRecord" => visitor.visit::<super::ConfigRecord>(),
        "ConsumerGroupCurrentMemberAssignmentKey" => {
            visitor.visit::<super::ConsumerGroupCurrentMemberAssignmentKey>()
        }
        "ConsumerGroupCurrentMemberAssignmentValue" => {
            visitor.visit::<super::ConsumerGroupCurrentMemberAssignmentValue>()
        }
        "ConsumerGroupMemberMetadataKey" => {
            visitor.visit::<super::ConsumerGroupMemberMetadataKey>()
        }
        "ConsumerGroupMemberMetadataValue" => {
            visitor.visit::<super::ConsumerGroupMemberMetadataValue>()
        }
        "ConsumerGroupMetadataKey" => visitor.visit::<super::ConsumerGroupMetadataKey>(),
        "ConsumerGroupMetadataValue" => visitor.visit::<super::ConsumerGroupMetadataValue>(),
        "ConsumerGroupPartitionMetadataKey" => {
            visitor.visit::<super::ConsumerGroupPartitionMetadataKey>()
        }
        "ConsumerGroupPartitionMetadataValue" => {
            visitor.visit::<super::ConsumerGroupPartitionMetadataValue>()
        }
        "ConsumerGroupRegularExpressionKey" => {
            visitor.visit::<super::ConsumerGroupRegularExpressionKey>()
        }
        "ConsumerGroupRegularExpressionValue" => {
            visitor.visit::<super::ConsumerGroupRegularExpressionValue>()
        }
        "ConsumerGroupTargetAssignmentMemberKey" => {
            visitor.visit::<super::ConsumerGroupTargetAssignmentMemberKey>()
        }
        "ConsumerGroupTargetAssignmentMemberValue" => {
            visitor.visit::<super::ConsumerGroupTargetAssignmentMemberValue>()
        }
        "ConsumerGroupTargetAssignmentMetadataKey" => {
            visitor.visit::<super::ConsumerGroupTargetAssignmentMetadataKey>()
        }
        "ConsumerGroupTargetAssignmentMetadataValue" => {
            visitor.visit::<super::ConsumerGroupTargetAssignmentMetadataValue>()
        }
        "ConsumerProtocolAssignment" => visitor.visit::<super::ConsumerProtocolAssignment>(),
        "ConsumerProtocolSubscription" => visitor.visit::<super::ConsumerProtocolSubscription>(),
        "ControlRecordTypeSchema" => visitor.visit::<super::ControlRecordTypeSchema>(),
        "DefaultPrincipalData" => visitor.visit::<super::DefaultPrincipalData>(),
        "DelegationTokenRecord" => visitor.visit::<super::DelegationTokenRecord>(),
        "EndTransactionRecord" => visitor.visit::<super::EndTransactionRecord>(),
        "EndTxnMarker" => visitor.visit::<super::EndTxnMarker>(),
        "FeatureLevelRecord" => visitor.visit::<super::FeatureLevelRecord>(),
        "FenceBrokerRecord" => visitor.visit::<super::FenceBrokerRecord>(),
        "GroupMetadataKey" => visitor.visit::<super::GroupMetadataKey>(),
        "GroupMetadataValue" => visitor.visit::<super::GroupMetadataValue>(),
        "GroupRebalances" => visitor.visit::<super::GroupRebalances>(),
        "KRaftVersionRecord" => visitor.visit::<super::KRaftVersionRecord>(),
        "LeaderChangeMessage" => visitor.visit::<super::LeaderChangeMessage>(),
        "LegacyOffsetCommitKey" => visitor.visit::<super::LegacyOffsetCommitKey>(),
        "LegacyOffsetCommitValue" => visitor.visit::<super::LegacyOffsetCommitValue>(),
        "NoOpRecord" => visitor.visit::<super::NoOpRecord>(),
        "OffsetCommitKey" => visitor.visit::<super::OffsetCommitKey>(),
        "OffsetCommitValue" => visitor.visit::<super::OffsetCommitValue>(),
        "PartitionChangeRecord" => visitor.visit::<super::PartitionChangeRecord>(),
        "PartitionRecord" => visitor.visit::<super::PartitionRecord>(),
        "ProducerIdsRecord" => visitor.visit::<super::ProducerIdsRecord>(),
        "ProducerSnapshot" => visitor.visit::<super::ProducerSnapshot>(),
        "QuorumStateData" => visitor.visit::<super::QuorumStateData>(),
        "RegisterBrokerRecord" => visitor.visit::<super::RegisterBrokerRecord>(),
        "RegisterControllerRecord" => visitor.visit::<super::RegisterControllerRecord>(),
        "RemoteLogSegmentMetadataRecord" => {
            visitor.visit::<super::RemoteLogSegmentMetadataRecord>()
        }
        "RemoteLogSegmentMetadataSnapshotRecord" => {
            visitor.visit::<super::RemoteLogSegmentMetadataSnapshotRecord>()
        }
        "RemoteLogSegmentMetadataUpdateRecord" => {
            visitor.visit::<super::RemoteLogSegmentMetadataUpdateRecord>()
        }
        "RemotePartitionDeleteMetadataRecord" => {
            visitor.visit::<super::RemotePartitionDeleteMetadataRecord>()
        }
        "RemoveAccessControlEntryRecord" => {
            visitor.visit::<super::RemoveAccessControlEntryRecord>()
        }
        "RemoveDelegationTokenRecord" => visitor.visit::<super::RemoveDelegationTokenRecord>(),
        "RemoveTopicRecord" => visitor.visit::<super::RemoveTopicRecord>(),
        "RemoveUserScramCredentialRecord" => {
            visitor.visit::<super::RemoveUserScramCredentialRecord>()
        }
        "ShareGroupCurrentMemberAssignmentKey" => {
            visitor.visit::<super::ShareGroupCurrentMemberAssignmentKey>()
        }
        "ShareGroupCurrentMemberAssignmentValue" => {
            visitor.visit::<super::ShareGroupCurrentMemberAssignmentValue>()
        }
        "ShareGroupMemberMetadataKey" => visitor.visit::<super::ShareGroupMemberMetadataKey>(),
        "ShareGroupMemberMetadataValue" => visitor.visit::<super::ShareGroupMemberMetadataValue>(),
        "ShareGroupMetadataKey" => visitor.visit::<super::ShareGroupMetadataKey>(),
        "ShareGroupMetadataValue" => visitor.visit::<super::ShareGroupMetadataValue>(),
        "ShareGroupStatePartitionMetadataKey" => {
            visitor.visit::<super::ShareGroupStatePartitionMetadataKey>()
        }
        "ShareGroupStatePartitionMetadataValue" => {
            visitor.visit::<super::ShareGroupStatePartitionMetadataValue>()
        }
        "ShareGroupTargetAssignmentMemberKey" => {
            visitor.visit::<super::ShareGroupTargetAssignmentMemberKey>()
        }
        "ShareGroupTargetAssignmentMemberValue" => {
            visitor.visit::<super::ShareGroupTargetAssignmentMemberValue>()
        }
        "ShareGroupTargetAssignmentMetadataKey" => {
            visitor.visit::<super::ShareGroupTargetAssignmentMetadataKey>()
        }
        "ShareGroupTargetAssignmentMetadataValue" => {
            visitor.visit::<super::ShareGroupTargetAssignmentMetadataValue>()
        }
        "ShareSnapshotKey" => visitor.visit::<super::ShareSnapshotKey>(),
        "ShareSnapshotValue" => visitor.visit::<super::ShareSnapshotValue>(),
        "ShareUpdateKey" => visitor.visit::<super::ShareUpdateKey>(),
        "ShareUpdateValue" => visitor.visit::<super::ShareUpdateValue>(),
        "SnapshotFooterRecord" => visitor.visit::<super::SnapshotFooterRecord>(),
        "SnapshotHeaderRecord" => visitor.visit::<super::SnapshotHeaderRecord>(),
        "StreamsGroupCurrentMemberAssignmentKey" => {
            visitor.visit::<super::StreamsGroupCurrentMemberAssignmentKey>()
        }
        "StreamsGroupCurrentMemberAssignmentValue" => {
            visitor.visit::<super::StreamsGroupCurrentMemberAssignmentValue>()
        }
        "StreamsGroupMemberMetadataKey" => visitor.visit::<super::StreamsGroupMemberMetadataKey>(),
        "StreamsGroupMemberMetadataValue" => {
            visitor.visit::<super::StreamsGroupMemberMetadataValue>()
        }
        "StreamsGroupMetadataKey" => visitor.visit::<super::StreamsGroupMetadataKey>(),
        "StreamsGroupMetadataValue" => visitor.visit::<super::StreamsGroupMetadataValue>(),
        "StreamsGroupTargetAssignmentMemberKey" => {
            visitor.visit::<super::StreamsGroupTargetAssignmentMemberKey>()
        }
        "StreamsGroupTargetAssignmentMemberValue" => {
            visitor.visit::<super::StreamsGroupTargetAssignmentMemberValue>()
        }
        "StreamsGroupTargetAssignmentMetadataKey" => {
            visitor.visit::<super::StreamsGroupTargetAssignmentMetadataKey>()
        }
        "StreamsGroupTargetAssignmentMetadataValue" => {
            visitor.visit::<super::StreamsGroupTargetAssignmentMetadataValue>()
        }
        "StreamsGroupTopologyKey" => visitor.visit::<super::StreamsGroupTopologyKey>(),
        "StreamsGroupTopologyValue" => visitor.visit::<super::StreamsGroupTopologyValue>(),
        "TopicRecord" => visitor.visit::<super::TopicRecord>(),
        "TransactionLogKey" => visitor.visit::<super::TransactionLogKey>(),
        "TransactionLogValue" => visitor.visit::<super::TransactionLogValue>(),
        "UnfenceBrokerRecord" => visitor.visit::<super::UnfenceBrokerRecord>(),
        "UnregisterBrokerRecord" => visitor.visit::<super::UnregisterBrokerRecord>(),
        "UnregisterControllerRecord" => visitor.visit::<super::UnregisterControllerRecord>(),
        "UserScramCredentialRecord" => visitor.visit::<super::UserScramCredentialRecord>(),
        "VotersRecord" => visitor.visit::<super::VotersRecord>(),
        "ZkMigrationStateRecord" => visitor.visit::<super::ZkMigrationStateRecord>(),
        _ => return None,
    })
}

/// Calls `visitor` with the type of the named message, which has a form in JSON; `None` when there is none of that name.
#[cfg(feature = "json")]
pub fn visit_message_in_json<V: crate::json::VisitJson>(
    name: &str,
    visitor: V,
) -> Option<V::Output> {
    Some(match name {
        "AbortTransactionRecord" => visitor.visit::<super::AbortTransactionRecord>(),
        "AbortedTxn" => visitor.visit::<super::AbortedTxn>(),
        "AccessControlEntryRecord" => visitor.visit::<super::AccessControlEntryRecord>(),
        "AddOffsetsToTxnRequest" => visitor.visit::<super::AddOffsetsToTxnRequest>(),
        "AddOffsetsToTxnResponse" => visitor.visit::<super::AddOffsetsToTxnResponse>(),
        "AddPartitionsToTxnRequest" => visitor.visit::<super::AddPartitionsToTxnRequest>(),
        "AddPartitionsToTxnResponse" => visitor.visit::<super::AddPartitionsToTxnResponse>(),
        "AddRaftVoterRequest" => visitor.visit::<super::AddRaftVoterRequest>(),
        "AddRaftVoterResponse" => visitor.visit::<super::AddRaftVoterResponse>(),
        "AllocateProducerIdsRequest" => visitor.visit::<super::AllocateProducerIdsRequest>(),
        "AllocateProducerIdsResponse" => visitor.visit::<super::AllocateProducerIdsResponse>(),
        "AlterClientQuotasRequest" => visitor.visit::<super::AlterClientQuotasRequest>(),
        "AlterClientQuotasResponse" => visitor.visit::<super::AlterClientQuotasResponse>(),
        "AlterConfigsRequest" => visitor.visit::<super::AlterConfigsRequest>(),
        "AlterConfigsResponse" => visitor.visit::<super::AlterConfigsResponse>(),
        "AlterPartitionReassignmentsRequest" => {
            visitor.visit::<super::AlterPartitionReassignmentsRequest>()
        }
        "AlterPartitionReassignmentsResponse" => {
            visitor.visit::<super::AlterPartitionReassignmentsResponse>()
        }
        "AlterPartitionRequest" => visitor.visit::<super::AlterPartitionRequest>(),
        "AlterPartitionResponse" => visitor.visit::<super::AlterPartitionResponse>(),
        "AlterReplicaLogDirsRequest" => visitor.visit::<super::AlterReplicaLogDirsRequest>(),
        "AlterReplicaLogDirsResponse" => visitor.visit::<super::AlterReplicaLogDirsResponse>(),
        "AlterShareGroupOffsetsRequest" => visitor.visit::<super::AlterShareGroupOffsetsRequest>(),
        "AlterShareGroupOffsetsResponse" => {
            visitor.visit::<super::AlterShareGroupOffsetsResponse>()
        }
        "AlterUserScramCredentialsRequest" => {
            visitor.visit::<super::AlterUserScramCredentialsRequest>()
        }
        "AlterUserScramCredentialsResponse" => {
            visitor.visit::<super::AlterUserScramCredentialsResponse>()
        }
        "ApiVersionsRequest" => visitor.visit::<super::ApiVersionsRequest>(),
        "ApiVersionsResponse" => visitor.visit::<super::ApiVersionsResponse>(),
        "AssignReplicasToDirsRequest" => visitor.visit::<super::AssignReplicasToDirsRequest>(),
        "AssignReplicasToDirsResponse" => visitor.visit::<super::AssignReplicasToDirsResponse>(),
        "BeginQuorumEpochRequest" => visitor.visit::<super::BeginQuorumEpochRequest>(),
        "BeginQuorumEpochResponse" => visitor.visit::<super::BeginQuorumEpochResponse>(),
        "BeginTransactionRecord" => visitor.visit::<super::BeginTransactionRecord>(),
        "BrokerHeartbeatRequest" => visitor.visit::<super::BrokerHeartbeatRequest>(),
        "BrokerHeartbeatResponse" => visitor.visit::<super::BrokerHeartbeatResponse>(),
        "BrokerRegistrationChangeRecord" => {
            visitor.visit::<super::BrokerRegistrationChangeRecord>()
        }
        "BrokerRegistrationRequest" => visitor.visit::<super::BrokerRegistrationRequest>(),
        "BrokerRegistrationResponse" => visitor.visit::<super::BrokerRegistrationResponse>(),
        "ClearElrRecord" => visitor.visit::<super::ClearElrRecord>(),
        "ClientQuotaRecord" => visitor.visit::<super::ClientQuotaRecord>(),
        "ConfigRecord" => visitor.visit::<super::ConfigRecord>(),
        "ConsumerGroupCurrentMemberAssignmentKey" => {
            visitor.visit::<super::ConsumerGroupCurrentMemberAssignmentKey>()
        }
        "ConsumerGroupCurrentMemberAssignmentValue" => {
            visitor.visit::<super::ConsumerGroupCurrentMemberAssignmentValue>()
        }
        "ConsumerGroupDescribeRequest" => visitor.visit::<super::ConsumerGroupDescribeRequest>(),
        "ConsumerGroupDescribeResponse" => visitor.visit::<super::ConsumerGroupDescribeResponse>(),
        "ConsumerGroupHeartbeatRequest" => visitor.visit::<super::ConsumerGroupHeartbeatRequest>(),
        "ConsumerGroupHeartbeatResponse" => {
            visitor.visit::<super::ConsumerGroupHeartbeatResponse>()
        }
        "ConsumerGroupMemberMetadataKey" => {
            visitor.visit::<super::ConsumerGroupMemberMetadataKey>()
        }
        "ConsumerGroupMemberMetadataValue" => {
            visitor.visit::<super::ConsumerGroupMemberMetadataValue>()
        }
        "ConsumerGroupMetadataKey" => visitor.visit::<super::ConsumerGroupMetadataKey>(),
        "ConsumerGroupMetadataValue" => visitor.visit::<super::ConsumerGroupMetadataValue>(),
        "ConsumerGroupPartitionMetadataKey" => {
            visitor.visit::<super::ConsumerGroupPartitionMetadataKey>()
        }
        "ConsumerGroupPartitionMetadataValue" => {
            visitor.visit::<super::ConsumerGroupPartitionMetadataValue>()
        }
        "ConsumerGroupRegularExpressionKey" => {
            visitor.visit::<super::ConsumerGroupRegularExpressionKey>()
        }
        "ConsumerGroupRegularExpressionValue" => {
            visitor.visit::<super::ConsumerGroupRegularExpressionValue>()
        }
        "ConsumerGroupTargetAssignmentMemberKey" => {
            visitor.visit::<super::ConsumerGroupTargetAssignmentMemberKey>()
        }
        "ConsumerGroupTargetAssignmentMemberValue" => {
            visitor.visit::<super::ConsumerGroupTargetAssignmentMemberValue>()
        }
        "ConsumerGroupTargetAssignmentMetadataKey" => {
            visitor.visit::<super::ConsumerGroupTargetAssignmentMetadataKey>()
        }
        "ConsumerGroupTargetAssignmentMetadataValue" => {
            visitor.visit::<super::ConsumerGroupTargetAssignmentMetadataValue>()
        }
        "ConsumerProtocolAssignment" => visitor.visit::<super::ConsumerProtocolAssignment>(),
        "ConsumerProtocolSubscription" => visitor.visit::<super::ConsumerProtocolSubscription>(),
        "ControlRecordTypeSchema" => visitor.visit::<super::ControlRecordTypeSchema>(),
        "ControllerRegistrationRequest" => visitor.visit::<super::ControllerRegistrationRequest>(),
        "ControllerRegistrationResponse" => {
            visitor.visit::<super::ControllerRegistrationResponse>()
        }
        "CreateAclsRequest" => visitor.visit::<super::CreateAclsRequest>(),
        "CreateAclsResponse" => visitor.visit::<super::CreateAclsResponse>(),
        "CreateDelegationTokenRequest" => visitor.visit::<super::CreateDelegationTokenRequest>(),
        "CreateDelegationTokenResponse" => visitor.visit::<super::CreateDelegationTokenResponse>(),
        "CreatePartitionsRequest" => visitor.visit::<super::CreatePartitionsRequest>(),
        "CreatePartitionsResponse" => visitor.visit::<super::CreatePartitionsResponse>(),
        "CreateTopicsRequest" => visitor.visit::<super::CreateTopicsRequest>(),
        "CreateTopicsResponse" => visitor.visit::<super::CreateTopicsResponse>(),
        "DefaultPrincipalData" => visitor.visit::<super::DefaultPrincipalData>(),
        "DelegationTokenRecord" => visitor.visit::<super::DelegationTokenRecord>(),
        "DeleteAclsRequest" => visitor.visit::<super::DeleteAclsRequest>(),
        "DeleteAclsResponse" => visitor.visit::<super::DeleteAclsResponse>(),
        "DeleteGroupsRequest" => visitor.visit::<super::DeleteGroupsRequest>(),
        "DeleteGroupsResponse" => visitor.visit::<super::DeleteGroupsResponse>(),
        "DeleteRecordsRequest" => visitor.visit::<super::DeleteRecordsRequest>(),
        "DeleteRecordsResponse" => visitor.visit::<super::DeleteRecordsResponse>(),
        "DeleteShareGroupOffsetsRequest" => {
            visitor.visit::<super::DeleteShareGroupOffsetsRequest>()
        }
        "DeleteShareGroupOffsetsResponse" => {
            visitor.visit::<super::DeleteShareGroupOffsetsResponse>()
        }
        "DeleteShareGroupStateRequest" => visitor.visit::<super::DeleteShareGroupStateRequest>(),
        "DeleteShareGroupStateResponse" => visitor.visit::<super::DeleteShareGroupStateResponse>(),
        "DeleteTopicsRequest" => visitor.visit::<super::DeleteTopicsRequest>(),
        "DeleteTopicsResponse" => visitor.visit::<super::DeleteTopicsResponse>(),
        "DescribeAclsRequest" => visitor.visit::<super::DescribeAclsRequest>(),
        "DescribeAclsResponse" => visitor.visit::<super::DescribeAclsResponse>(),
        "DescribeClientQuotasRequest" => visitor.visit::<super::DescribeClientQuotasRequest>(),
        "DescribeClientQuotasResponse" => visitor.visit::<super::DescribeClientQuotasResponse>(),
        "DescribeClusterRequest" => visitor.visit::<super::DescribeClusterRequest>(),
        "DescribeClusterResponse" => visitor.visit::<super::DescribeClusterResponse>(),
        "DescribeConfigsRequest" => visitor.visit::<super::DescribeConfigsRequest>(),
        "DescribeConfigsResponse" => visitor.visit::<super::DescribeConfigsResponse>(),
        "DescribeDelegationTokenRequest" => {
            visitor.visit::<super::DescribeDelegationTokenRequest>()
        }
        "DescribeDelegationTokenResponse" => {
            visitor.visit::<super::DescribeDelegationTokenResponse>()
        }
        "DescribeGroupsRequest" => visitor.visit::<super::DescribeGroupsRequest>(),
        "DescribeGroupsResponse" => visitor.visit::<super::DescribeGroupsResponse>(),
        "DescribeLogDirsRequest" => visitor.visit::<super::DescribeLogDirsRequest>(),
        "DescribeLogDirsResponse" => visitor.visit::<super::DescribeLogDirsResponse>(),
        "DescribeProducersRequest" => visitor.visit::<super::DescribeProducersRequest>(),
        "DescribeProducersResponse" => visitor.visit::<super::DescribeProducersResponse>(),
        "DescribeQuorumRequest" => visitor.visit::<super::DescribeQuorumRequest>(),
        "DescribeQuorumResponse" => visitor.visit::<super::DescribeQuorumResponse>(),
        "DescribeShareGroupOffsetsRequest" => {
            visitor.visit::<super::DescribeShareGroupOffsetsRequest>()
        }
        "DescribeShareGroupOffsetsResponse" => {
            visitor.visit::<super::DescribeShareGroupOffsetsResponse>()
        }
        "DescribeTopicPartitionsRequest" => {
            visitor.visit::<super::DescribeTopicPartitionsRequest>()
        }
        "DescribeTopicPartitionsResponse" => {
            visitor.visit::<super::DescribeTopicPartitionsResponse>()
        }
        "DescribeTransactionsRequest" => visitor.visit::<super::DescribeTransactionsRequest>(),
        "DescribeTransactionsResponse" => visitor.visit::<super::DescribeTransactionsResponse>(),
        "DescribeUserScramCredentialsRequest" => {
            visitor.visit::<super::DescribeUserScramCredentialsRequest>()
        }
        "DescribeUserScramCredentialsResponse" => {
            visitor.visit::<super::DescribeUserScramCredentialsResponse>()
        }
        "ElectLeadersRequest" => visitor.visit::<super::ElectLeadersRequest>(),
        "ElectLeadersResponse" => visitor.visit::<super::ElectLeadersResponse>(),
        "EndQuorumEpochRequest" => visitor.visit::<super::EndQuorumEpochRequest>(),
        "EndQuorumEpochResponse" => visitor.visit::<super::EndQuorumEpochResponse>(),
        "EndTransactionRecord" => visitor.visit::<super::EndTransactionRecord>(),
        "EndTxnMarker" => visitor.visit::<super::EndTxnMarker>(),
        "EndTxnRequest" => visitor.visit::<super::EndTxnRequest>(),
        "EndTxnResponse" => visitor.visit::<super::EndTxnResponse>(),
        "EnvelopeRequest" => visitor.visit::<super::EnvelopeRequest>(),
        "EnvelopeResponse" => visitor.visit::<super::EnvelopeResponse>(),
        "ExpireDelegationTokenRequest" => visitor.visit::<super::ExpireDelegationTokenRequest>(),
        "ExpireDelegationTokenResponse" => visitor.visit::<super::ExpireDelegationTokenResponse>(),
        "FeatureLevelRecord" => visitor.visit::<super::FeatureLevelRecord>(),
        "FenceBrokerRecord" => visitor.visit::<super::FenceBrokerRecord>(),
        "FetchRequest" => visitor.visit::<super::FetchRequest>(),
        "FetchResponse" => visitor.visit::<super::FetchResponse>(),
        "FetchSnapshotRequest" => visitor.visit::<super::FetchSnapshotRequest>(),
        "FetchSnapshotResponse" => visitor.visit::<super::FetchSnapshotResponse>(),
        "FindCoordinatorRequest" => visitor.visit::<super::FindCoordinatorRequest>(),
        "FindCoordinatorResponse" => visitor.visit::<super::FindCoordinatorResponse>(),
        "GetTelemetrySubscriptionsRequest" => {
            visitor.visit::<super::GetTelemetrySubscriptionsRequest>()
        }
        "GetTelemetrySubscriptionsResponse" => {
            visitor.visit::<super::GetTelemetrySubscriptionsResponse>()
        }
        "GroupMetadataKey" => visitor.visit::<super::GroupMetadataKey>(),
        "GroupMetadataValue" => visitor.visit::<super::GroupMetadataValue>(),
        "GroupRebalances" => visitor.visit::<super::GroupRebalances>(),
        "HeartbeatRequest" => visitor.visit::<super::HeartbeatRequest>(),
        "HeartbeatResponse" => visitor.visit::<super::HeartbeatResponse>(),
        "IncrementalAlterConfigsRequest" => {
            visitor.visit::<super::IncrementalAlterConfigsRequest>()
        }
        "IncrementalAlterConfigsResponse" => {
            visitor.visit::<super::IncrementalAlterConfigsResponse>()
        }
        "InitProducerIdRequest" => visitor.visit::<super::InitProducerIdRequest>(),
        "InitProducerIdResponse" => visitor.visit::<super::InitProducerIdResponse>(),
        "InitializeShareGroupStateRequest" => {
            visitor.visit::<super::InitializeShareGroupStateRequest>()
        }
        "InitializeShareGroupStateResponse" => {
            visitor.visit::<super::InitializeShareGroupStateResponse>()
        }
        "JoinGroupRequest" => visitor.visit::<super::JoinGroupRequest>(),
        "JoinGroupResponse" => visitor.visit::<super::JoinGroupResponse>(),
        "KRaftVersionRecord" => visitor.visit::<super::KRaftVersionRecord>(),
        "LeaderChangeMessage" => visitor.visit::<super::LeaderChangeMessage>(),
        "LeaveGroupRequest" => visitor.visit::<super::LeaveGroupRequest>(),
        "LeaveGroupResponse" => visitor.visit::<super::LeaveGroupResponse>(),
        "LegacyOffsetCommitKey" => visitor.visit::<super::LegacyOffsetCommitKey>(),
        "LegacyOffsetCommitValue" => visitor.visit::<super::LegacyOffsetCommitValue>(),
        "ListConfigResourcesRequest" => visitor.visit::<super::ListConfigResourcesRequest>(),
        "ListConfigResourcesResponse" => visitor.visit::<super::ListConfigResourcesResponse>(),
        "ListGroupsRequest" => visitor.visit::<super::ListGroupsRequest>(),
        "ListGroupsResponse" => visitor.visit::<super::ListGroupsResponse>(),
        "ListOffsetsRequest" => visitor.visit::<super::ListOffsetsRequest>(),
        "ListOffsetsResponse" => visitor.visit::<super::ListOffsetsResponse>(),
        "ListPartitionReassignmentsRequest" => {
            visitor.visit::<super::ListPartitionReassignmentsRequest>()
        }
        "ListPartitionReassignmentsResponse" => {
            visitor.visit::<super::ListPartitionReassignmentsResponse>()
        }
        "ListTransactionsRequest" => visitor.visit::<super::ListTransactionsRequest>(),
        "ListTransactionsResponse" => visitor.visit::<super::ListTransactionsResponse>(),
        "MetadataRequest" => visitor.visit::<super::MetadataRequest>(),
        "MetadataResponse" => visitor.visit::<super::MetadataResponse>(),
        "NoOpRecord" => visitor.visit::<super::NoOpRecord>(),
        "OffsetCommitKey" => visitor.visit::<super::OffsetCommitKey>(),
        "OffsetCommitRequest" => visitor.visit::<super::OffsetCommitRequest>(),
        "OffsetCommitResponse" => visitor.visit::<super::OffsetCommitResponse>(),
        "OffsetCommitValue" => visitor.visit::<super::OffsetCommitValue>(),
        "OffsetDeleteRequest" => visitor.visit::<super::OffsetDeleteRequest>(),
        "OffsetDeleteResponse" => visitor.visit::<super::OffsetDeleteResponse>(),
        "OffsetFetchRequest" => visitor.visit::<super::OffsetFetchRequest>(),
        "OffsetFetchResponse" => visitor.visit::<super::OffsetFetchResponse>(),
        "OffsetForLeaderEpochRequest" => visitor.visit::<super::OffsetForLeaderEpochRequest>(),
        "OffsetForLeaderEpochResponse" => visitor.visit::<super::OffsetForLeaderEpochResponse>(),
        "PartitionChangeRecord" => visitor.visit::<super::PartitionChangeRecord>(),
        "PartitionRecord" => visitor.visit::<super::PartitionRecord>(),
        "ProduceRequest" => visitor.visit::<super::ProduceRequest>(),
        "ProduceResponse" => visitor.visit::<super::ProduceResponse>(),
        "ProducerIdsRecord" => visitor.visit::<super::ProducerIdsRecord>(),
        "ProducerSnapshot" => visitor.visit::<super::ProducerSnapshot>(),
        "PushTelemetryRequest" => visitor.visit::<super::PushTelemetryRequest>(),
        "PushTelemetryResponse" => visitor.visit::<super::PushTelemetryResponse>(),
        "QuorumStateData" => visitor.visit::<super::QuorumStateData>(),
        "ReadShareGroupStateRequest" => visitor.visit::<super::ReadShareGroupStateRequest>(),
        "ReadShareGroupStateResponse" => visitor.visit::<super::ReadShareGroupStateResponse>(),
        "ReadShareGroupStateSummaryRequest" => {
            visitor.visit::<super::ReadShareGroupStateSummaryRequest>()
        }
        "ReadShareGroupStateSummaryResponse" => {
            visitor.visit::<super::ReadShareGroupStateSummaryResponse>()
        }
        "RegisterBrokerRecord" => visitor.visit::<super::RegisterBrokerRecord>(),
        "RegisterControllerRecord" => visitor.visit::<super::RegisterControllerRecord>(),
        "RemoteLogSegmentMetadataRecord" => {
            visitor.visit::<super::RemoteLogSegmentMetadataRecord>()
        }
        "RemoteLogSegmentMetadataSnapshotRecord" => {
            visitor.visit::<super::RemoteLogSegmentMetadataSnapshotRecord>()
        }
        "RemoteLogSegmentMetadataUpdateRecord" => {
            visitor.visit::<super::RemoteLogSegmentMetadataUpdateRecord>()
        }
        "RemotePartitionDeleteMetadataRecord" => {
            visitor.visit::<super::RemotePartitionDeleteMetadataRecord>()
        }
        "RemoveAccessControlEntryRecord" => {
            visitor.visit::<super::RemoveAccessControlEntryRecord>()
        }
        "RemoveDelegationTokenRecord" => visitor.visit::<super::RemoveDelegationTokenRecord>(),
        "RemoveRaftVoterRequest" => visitor.visit::<super::RemoveRaftVoterRequest>(),
        "RemoveRaftVoterResponse" => visitor.visit::<super::RemoveRaftVoterResponse>(),
        "RemoveTopicRecord" => visitor.visit::<super::RemoveTopicRecord>(),
        "RemoveUserScramCredentialRecord" => {
            visitor.visit::<super::RemoveUserScramCredentialRecord>()
        }
        "RenewDelegationTokenRequest" => visitor.visit::<super::RenewDelegationTokenRequest>(),
        "RenewDelegationTokenResponse" => visitor.visit::<super::RenewDelegationTokenResponse>(),
        "RequestHeader" => visitor.visit::<super::RequestHeader>(),
        "ResponseHeader" => visitor.visit::<super::ResponseHeader>(),
        "SaslAuthenticateRequest" => visitor.visit::<super::SaslAuthenticateRequest>(),
        "SaslAuthenticateResponse" => visitor.visit::<super::SaslAuthenticateResponse>(),
        "SaslHandshakeRequest" => visitor.visit::<super::SaslHandshakeRequest>(),
        "SaslHandshakeResponse" => visitor.visit::<super::SaslHandshakeResponse>(),
        "ShareAcknowledgeRequest" => visitor.visit::<super::ShareAcknowledgeRequest>(),
        "ShareAcknowledgeResponse" => visitor.visit::<super::ShareAcknowledgeResponse>(),
        "ShareFetchRequest" => visitor.visit::<super::ShareFetchRequest>(),
        "ShareFetchResponse" => visitor.visit::<super::ShareFetchResponse>(),
        "ShareGroupCurrentMemberAssignmentKey" => {
            visitor.visit::<super::ShareGroupCurrentMemberAssignmentKey>()
        }
        "ShareGroupCurrentMemberAssignmentValue" => {
            visitor.visit::<super::ShareGroupCurrentMemberAssignmentValue>()
        }
        "ShareGroupDescribeRequest" => visitor.visit::<super::ShareGroupDescribeRequest>(),
        "ShareGroupDescribeResponse" => visitor.visit::<super::ShareGroupDescribeResponse>(),
        "ShareGroupHeartbeatRequest" => visitor.visit::<super::ShareGroupHeartbeatRequest>(),
        "ShareGroupHeartbeatResponse" => visitor.visit::<super::ShareGroupHeartbeatResponse>(),
        "ShareGroupMemberMetadataKey" => visitor.visit::<super::ShareGroupMemberMetadataKey>(),
        "ShareGroupMemberMetadataValue" => visitor.visit::<super::ShareGroupMemberMetadataValue>(),
        "ShareGroupMetadataKey" => visitor.visit::<super::ShareGroupMetadataKey>(),
        "ShareGroupMetadataValue" => visitor.visit::<super::ShareGroupMetadataValue>(),
        "ShareGroupStatePartitionMetadataKey" => {
            visitor.visit::<super::ShareGroupStatePartitionMetadataKey>()
        }
        "ShareGroupStatePartitionMetadataValue" => {
            visitor.visit::<super::ShareGroupStatePartitionMetadataValue>()
        }
        "ShareGroupTargetAssignmentMemberKey" => {
            visitor.visit::<super::ShareGroupTargetAssignmentMemberKey>()
        }
        "ShareGroupTargetAssignmentMemberValue" => {
            visitor.visit::<super::ShareGroupTargetAssignmentMemberValue>()
        }
        "ShareGroupTargetAssignmentMetadataKey" => {
            visitor.visit::<super::ShareGroupTargetAssignmentMetadataKey>()
        }
        "ShareGroupTargetAssignmentMetadataValue" => {
            visitor.visit::<super::ShareGroupTargetAssignmentMetadataValue>()
        }
        "ShareSnapshotKey" => visitor.visit::<super::ShareSnapshotKey>(),
        "ShareSnapshotValue" => visitor.visit::<super::ShareSnapshotValue>(),
        "ShareUpdateKey" => visitor.visit::<super::ShareUpdateKey>(),
        "ShareUpdateValue" => visitor.visit::<super::ShareUpdateValue>(),
        "SnapshotFooterRecord" => visitor.visit::<super::SnapshotFooterRecord>(),
        "SnapshotHeaderRecord" => visitor.visit::<super::SnapshotHeaderRecord>(),
        "StreamsGroupCurrentMemberAssignmentKey" => {
            visitor.visit::<super::StreamsGroupCurrentMemberAssignmentKey>()
        }
        "StreamsGroupCurrentMemberAssignmentValue" => {
            visitor.visit::<super::StreamsGroupCurrentMemberAssignmentValue>()
        }
        "StreamsGroupDescribeRequest" => visitor.visit::<super::StreamsGroupDescribeRequest>(),
        "StreamsGroupDescribeResponse" => visitor.visit::<super::StreamsGroupDescribeResponse>(),
        "StreamsGroupHeartbeatRequest" => visitor.visit::<super::StreamsGroupHeartbeatRequest>(),
        "StreamsGroupHeartbeatResponse" => visitor.visit::<super::StreamsGroupHeartbeatResponse>(),
        "StreamsGroupMemberMetadataKey" => visitor.visit::<super::StreamsGroupMemberMetadataKey>(),
        "StreamsGroupMemberMetadataValue" => {
            visitor.visit::<super::StreamsGroupMemberMetadataValue>()
        }
        "StreamsGroupMetadataKey" => visitor.visit::<super::StreamsGroupMetadataKey>(),
        "StreamsGroupMetadataValue" => visitor.visit::<super::StreamsGroupMetadataValue>(),
        "StreamsGroupTargetAssignmentMemberKey" => {
            visitor.visit::<super::StreamsGroupTargetAssignmentMemberKey>()
        }
        "StreamsGroupTargetAssignmentMemberValue" => {
            visitor.visit::<super::StreamsGroupTargetAssignmentMemberValue>()
        }
        "StreamsGroupTargetAssignmentMetadataKey" => {
            visitor.visit::<super::StreamsGroupTargetAssignmentMetadataKey>()
        }
        "StreamsGroupTargetAssignmentMetadataValue" => {
            visitor.visit::<super::StreamsGroupTargetAssignmentMetadataValue>()
        }
        "StreamsGroupTopologyDescriptionUpdateRequest" => {
            visitor.visit::<super::StreamsGroupTopologyDescriptionUpdateRequest>()
        }
        "StreamsGroupTopologyDescriptionUpdateResponse" => {
            visitor.visit::<super::StreamsGroupTopologyDescriptionUpdateResponse>()
        }
        "StreamsGroupTopologyKey" => visitor.visit::<super::StreamsGroupTopologyKey>(),
        "StreamsGroupTopologyValue" => visitor.visit::<super::StreamsGroupTopologyValue>(),
        "SyncGroupRequest" => visitor.visit::<super::SyncGroupRequest>(),
        "SyncGroupResponse" => visitor.visit::<super::SyncGroupResponse>(),
        "TopicRecord" => visitor.visit::<super::TopicRecord>(),
        "TransactionLogKey" => visitor.visit::<super::TransactionLogKey>(),
        "TransactionLogValue" => visitor.visit::<super::TransactionLogValue>(),
        "TxnOffsetCommitRequest" => visitor.visit::<super::TxnOffsetCommitRequest>(),
        "TxnOffsetCommitResponse" => visitor.visit::<super::TxnOffsetCommitResponse>(),
        "UnfenceBrokerRecord" => visitor.visit::<super::UnfenceBrokerRecord>(),
        "UnregisterBrokerRecord" => visitor.visit::<super::UnregisterBrokerRecord>(),
        "UnregisterBrokerRequest" => visitor.visit::<super::UnregisterBrokerRequest>(),
        "UnregisterBrokerResponse" => visitor.visit::<super::UnregisterBrokerResponse>(),
        "UnregisterControllerRecord" => visitor.visit::<super::UnregisterControllerRecord>(),
        "UnregisterControllerRequest" => visitor.visit::<super::UnregisterControllerRequest>(),
        "UnregisterControllerResponse" => visitor.visit::<super::UnregisterControllerResponse>(),
        "UpdateFeaturesRequest" => visitor.visit::<super::UpdateFeaturesRequest>(),
        "UpdateFeaturesResponse" => visitor.visit::<super::UpdateFeaturesResponse>(),
        "UpdateRaftVoterRequest" => visitor.visit::<super::UpdateRaftVoterRequest>(),
        "UpdateRaftVoterResponse" => visitor.visit::<super::UpdateRaftVoterResponse>(),
        "UserScramCredentialRecord" => visitor.visit::<super::UserScramCredentialRecord>(),
        "VoteRequest" => visitor.visit::<super::VoteRequest>(),
        "VoteResponse" => visitor.visit::<super::VoteResponse>(),
        "VotersRecord" => visitor.visit::<super::VotersRecord>(),
        "WriteShareGroupStateRequest" => visitor.visit::<super::WriteShareGroupStateRequest>(),
        "WriteShareGroupStateResponse" => visitor.visit::<super::WriteShareGroupStateResponse>(),
        "WriteTxnMarkersRequest" => visitor.visit::<super::WriteTxnMarkersRequest>(),
        "WriteTxnMarkersResponse" => visitor.visit::<super::WriteTxnMarkersResponse>(),
        "ZkMigrationStateRecord" => visitor.visit::<super::ZkMigrationStateRecord>(),
        _ => return None,
    })
}
