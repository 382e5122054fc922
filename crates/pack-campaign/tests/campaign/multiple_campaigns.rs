//! Several campaigns in one process.

use std::sync::Arc;

use pack_campaign::{CampaignPack, CampaignSlot, CommandLog, LiveCampaign};
use serde_json::json;

use crate::support::{CampaignSetup, call_tool, find_tool, wait_until};

#[test]
fn calls_name_their_campaign() {
    let slots = ["vault", "deposits"].map(|handle| Arc::new(CampaignSlot::new(handle)));
    let pack = CampaignPack::new(slots.to_vec());
    let tools = pack.tools().unwrap();
    for tool in &tools {
        let contract = tool.contract();
        let input = contract.input.as_value();
        let name = &contract.name;
        assert_eq!(input["properties"]["campaign"]["enum"], json!(["vault", "deposits"]), "{name}");
        assert!(input["required"].as_array().unwrap().contains(&json!("campaign")), "{name}");
        for example in &contract.examples {
            assert!(contract.input.is_valid(&example.input), "{name}: {}", example.input);
        }
    }
    let mut setting = CampaignSetup::for_contract("Deposits");
    setting.settings.test_limit = 1_000;
    let campaign = setting.start();
    slots[1].set_live(LiveCampaign {
        shared: Arc::clone(campaign.shared()),
        output: None,
        scene: None,
        log: CommandLog::disabled(),
    });
    wait_until("the campaign ends", || campaign.is_finished());
    let ask = |arguments| call_tool(find_tool(&tools, "campaign_target"), arguments);
    let answer = ask(json!({"campaign": "deposits"})).unwrap().structured.unwrap();
    assert_eq!(answer["contracts"][0]["name"], "Deposits");
    let refusals = [json!({}), json!({"campaign": "vault"}), json!({"campaign": "other"})]
        .map(|arguments| ask(arguments).unwrap_err().to_string());
    assert_eq!(
        refusals,
        [
            "INVALID_INPUT: `campaign` is required",
            "UPSTREAM_UNAVAILABLE: campaign `vault` is still being prepared (compiling and deploying its smart \
             contracts); try again in a moment",
            "INVALID_INPUT: `campaign` must be one of [\"vault\",\"deposits\"]",
        ]
    );
    let addresses: Vec<String> =
        pack.resources().list_resources().into_iter().map(|resource| resource.uri).collect();
    assert_eq!(
        addresses,
        [
            "campaign://vault/events",
            "campaign://vault/coverage",
            "campaign://deposits/events",
            "campaign://deposits/coverage",
        ]
    );
    campaign.wait();
}
